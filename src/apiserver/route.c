#include "apiserver/route.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void split_path(struct route *route, const char *path);
static void read_resource(struct route *route);
static int split_query(struct route *route, const char *query, struct err *err);
static int read_query(struct route *route, struct err *err);
static const char *part(const struct route *route, int at);
static const char *text_of(const struct route *route, const char *key);
static int number_of(const struct route *route, const char *key, int64_t *ret_value,
                     struct err *err);
static bool flag_of(const struct route *route, const char *key);
static char *decode(const char *text, size_t len, bool plus);
static int hex_digit(char c);

int route_parse(const char *path, const char *query, struct route *ret_route, struct err *err) {
    struct route route = {0};

    split_path(&route, path);
    read_resource(&route);
    int r = split_query(&route, query, err);

    if (r == 0)
        r = read_query(&route, err);
    if (r < 0) {
        route_done(&route);
        return r;
    }
    *ret_route = route;
    return 0;
}

void route_done(struct route *route) {
    if (!route)
        return;
    for (int i = 0; i < route->part_count; i++)
        free(route->parts[i]);
    for (int i = 0; i < route->pair_count; i++) {
        free(route->pairs[i].key);
        free(route->pairs[i].value);
    }
    *route = (struct route){0};
}

static void split_path(struct route *route, const char *path) {
    while (*path == '/' && route->part_count < ROUTE_PARTS_MAX) {
        const size_t len = strcspn(++path, "/");

        if (len > 0)
            route->parts[route->part_count++] = decode(path, len, false);
        path += len;
    }
}

/* "/api/v1" or "/apis/GROUP/VERSION", then "namespaces/NS" or not, then resource, name and
 * subresource. The namespaces resource itself looks like a prefix and is told by its length. */
static void read_resource(struct route *route) {
    const bool core = strcmp(part(route, 0), "api") == 0;
    int at = core ? 2 : 3;

    route->group = route->version = route->ns = "";
    route->resource = route->name = route->subresource = "";
    if ((!core && strcmp(part(route, 0), "apis") != 0) || route->part_count <= at)
        return;
    route->group = core ? "" : part(route, 1);
    route->version = part(route, at - 1);
    const bool prefix = strcmp(part(route, at), "namespaces") == 0 && route->part_count > at + 2;

    if (prefix && !(core && route->part_count == at + 3 &&
                    (strcmp(part(route, at + 2), "status") == 0 ||
                     strcmp(part(route, at + 2), "finalize") == 0))) {
        route->ns = part(route, at + 1);
        at += 2;
    }
    if (route->part_count > at + 3)
        return;
    route->resource = part(route, at);
    route->name = part(route, at + 1);
    route->subresource = part(route, at + 2);
    route->is_resource = true;
}

static int split_query(struct route *route, const char *query, struct err *err) {
    while (*query != '\0') {
        const size_t len = strcspn(query, "&");
        const size_t key_len = strcspn(query, "=&");

        if (len > 0) {
            if (route->pair_count == ROUTE_QUERY_MAX)
                return err_set(err, ERR_INVALID, "more than %d query parameters", ROUTE_QUERY_MAX);
            struct route_pair *pair = &route->pairs[route->pair_count++];
            const size_t skip = key_len < len ? key_len + 1 : len;

            pair->key = decode(query, key_len, true);
            pair->value = decode(query + skip, len - skip, true);
        }
        query += len;
        query += *query == '&';
    }
    return 0;
}

static int read_query(struct route *route, struct err *err) {
    route->label_selector = text_of(route, "labelSelector");
    route->field_selector = text_of(route, "fieldSelector");
    route->continue_token = text_of(route, "continue");
    route->rv = text_of(route, "resourceVersion");
    route->rv_match = text_of(route, "resourceVersionMatch");
    route->field_manager = text_of(route, "fieldManager");
    route->field_validation = text_of(route, "fieldValidation");
    route->propagation = text_of(route, "propagationPolicy");
    route->include_object = text_of(route, "includeObject");
    route->grace_s = -1;
    route->send_initial = -1;
    const char *dry_run = text_of(route, "dryRun");

    if (*dry_run != '\0' && strcmp(dry_run, "All") != 0)
        return err_set(err, ERR_INVALID,
                       "dryRun: Unsupported value: \"%.40s\": supported values: \"All\"", dry_run);
    route->dry_run = *dry_run != '\0';
    int r = number_of(route, "limit", &route->limit, err);

    if (r == 0)
        r = number_of(route, "timeoutSeconds", &route->timeout_s, err);
    if (r == 0)
        r = number_of(route, "gracePeriodSeconds", &route->grace_s, err);
    route->watch = flag_of(route, "watch");
    route->bookmarks = flag_of(route, "allowWatchBookmarks");
    route->force = flag_of(route, "force");
    if (*text_of(route, "sendInitialEvents") != '\0')
        route->send_initial = flag_of(route, "sendInitialEvents");
    return r;
}

/* The at-th part of the path; "" beyond the last. */
static const char *part(const struct route *route, int at) {
    return at < route->part_count ? route->parts[at] : "";
}

static const char *text_of(const struct route *route, const char *key) {
    for (int i = 0; i < route->pair_count; i++) {
        if (strcmp(route->pairs[i].key, key) == 0)
            return route->pairs[i].value;
    }
    return "";
}

static int number_of(const struct route *route, const char *key, int64_t *ret_value,
                     struct err *err) {
    const char *text = text_of(route, key);
    char *end = NULL;

    if (*text == '\0')
        return 0;
    errno = 0;
    const long long value = strtoll(text, &end, 10);

    if (errno != 0 || *end != '\0' || value < 0)
        return err_set(err, ERR_INVALID, "%s: \"%.40s\" is not a whole number of 0 or more", key,
                       text);
    *ret_value = value;
    return 0;
}

/* As the real server reads them: "", "0" and "false" are false, the rest is true. */
static bool flag_of(const struct route *route, const char *key) {
    const char *text = text_of(route, key);

    return *text != '\0' && strcmp(text, "0") != 0 && strcasecmp(text, "false") != 0;
}

/* A broken escape stays as it is written. */
static char *decode(const char *text, size_t len, bool plus) {
    char *out = str_alloc(len + 1, 1);
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '%' && i + 2 < len && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
            c = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c != '\0')
            out[count++] = c;
    }
    return out;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
