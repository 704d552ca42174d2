#include "apiserver/read.h"

#include "apiserver/answer.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX_BYTES 1024
#define WATCH_TIMEOUT_MIN_MS 1800000 /* without timeoutSeconds: half an hour to an hour */

/* One page's place: the list as of rv, behind ns and name. */
struct page {
    uint64_t rv; /* 0: as of now */
    char *ns;
    char *name;
};

static int list_version(struct call *call, uint64_t *ret_rv);
static int check_match(struct call *call, bool is_watch);
static int parse_rv(struct call *call, uint64_t *ret_rv);
static int page_read(struct call *call, struct page *ret_page);
static char *page_token(uint64_t rv, const struct object *last);
static void page_done(struct page *page);
static int refuse_expired(struct call *call, const struct page *page);
static int list_from(struct call *call, const struct object_set *then, uint64_t rv,
                     const struct page *page);

int read_get(struct call *call) {
    struct object *object = call_object(call);

    if (!object)
        return ERR_INVALID;
    answer_object(call, 200, object);
    return 0;
}

int read_list(struct call *call) {
    struct objects *objects = call->server->objects;
    struct page page = {0};
    uint64_t rv = 0;
    int r = check_match(call, false);

    if (r == 0)
        r = *call->route.continue_token != '\0' ? page_read(call, &page) : list_version(call, &rv);
    if (r < 0)
        return r;
    if (page.rv > 0)
        rv = page.rv;
    if (rv == 0 || rv == objects_rv(objects)) {
        r = list_from(call, call->set, objects_rv(objects), &page);
    } else {
        struct object_set then = {0};

        r = objects_as_of(objects, call->set, rv, &then.at, &then.count, NULL);
        if (r == ERR_NOTFOUND && page.name)
            r = refuse_expired(call, &page);
        else if (r == ERR_NOTFOUND)
            r = refuse(&call->refusal, 410, "Expired",
                       "The resourceVersion for the provided list is too old.");
        else if (r < 0)
            r = refuse_future(&call->refusal, rv, objects_rv(objects));
        else
            r = list_from(call, &then, rv, &page);
        object_list_free(then.at, then.count);
    }
    page_done(&page);
    return r;
}

int read_watch(struct call *call) {
    const struct route *route = &call->route;
    struct watch_request request = {
        .kind = call->kind,
        .set = call->set,
        .form = call->view.form,
        .include_object = route->include_object,
        .ns = route->ns,
        .bookmarks = route->bookmarks,
        .timeout_ms = route->timeout_s > 0 && route->timeout_s < 1000000
                          ? route->timeout_s * 1000
                          : random_jitter_ms(&call->server->rng, WATCH_TIMEOUT_MIN_MS, 1000),
    };
    struct err err = {0};
    int r = check_match(call, true);

    if (r == 0)
        r = parse_rv(call, &request.from_rv);
    if (r < 0)
        return r;
    request.initial = route->send_initial < 0 ? request.from_rv == 0 : route->send_initial == 1;
    request.initial_mark = route->send_initial == 1;
    if (request.initial && request.from_rv > objects_rv(call->server->objects))
        return refuse_future(&call->refusal, request.from_rv, objects_rv(call->server->objects));
    if (*route->name != '\0') {
        auto_free char *field = str_printf("metadata.name=%s", route->name);

        if (selector_fields(field, call->kind->group, call->kind->resource, &request.fields, &err) <
                0 ||
            selector_labels(route->label_selector, &request.labels, &err) < 0)
            r = refuse(&call->refusal, 400, "BadRequest", "%s", err.msg);
    } else {
        r = read_selectors(call, &request.labels, &request.fields);
    }
    if (r == 0 && watches_start(call->server->watches, &request, call->reply, &err) < 0)
        r = refuse(&call->refusal, 429, "TooManyRequests", "%s", err.msg);
    selector_done(&request.labels);
    selector_done(&request.fields);
    return r;
}

int read_selectors(struct call *call, struct selector *ret_labels, struct selector *ret_fields) {
    struct err err = {0};

    if (selector_labels(call->route.label_selector, ret_labels, &err) < 0 ||
        selector_fields(call->route.field_selector, call->kind->group, call->kind->resource,
                        ret_fields, &err) < 0) {
        selector_done(ret_labels);
        return refuse(&call->refusal, 400, "BadRequest", "%s", err.msg);
    }
    return 0;
}

/* The version that a list must be of: 0 is now. */
static int list_version(struct call *call, uint64_t *ret_rv) {
    const struct route *route = &call->route;
    const uint64_t current = objects_rv(call->server->objects);
    uint64_t rv = 0;

    if (parse_rv(call, &rv) < 0)
        return ERR_INVALID;
    if (rv > current)
        return refuse_future(&call->refusal, rv, current);
    /* Without a match word, a version and a limit together mean just this version. */
    const bool exact =
        strcmp(route->rv_match, "Exact") == 0 || (*route->rv_match == '\0' && route->limit > 0);

    *ret_rv = exact ? rv : 0;
    return 0;
}

/* The rules for resourceVersionMatch and sendInitialEvents, as the real server words them. */
static int check_match(struct call *call, bool is_watch) {
    const struct route *route = &call->route;
    const char *match = route->rv_match;
    const char *why = NULL;

    if (*match != '\0' && strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0)
        why = "resourceVersionMatch: Unsupported value: supported values: \"Exact\", "
              "\"NotOlderThan\"";
    else if (is_watch && route->send_initial < 0 && *match != '\0')
        why = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless "
              "sendInitialEvents is provided";
    else if (is_watch && route->send_initial >= 0 && strcmp(match, "NotOlderThan") != 0)
        why = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
              "resourceVersionMatch to NotOlderThan";
    else if (!is_watch && route->send_initial >= 0)
        why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    else if (!is_watch && *match != '\0' && *route->continue_token != '\0')
        why = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is "
              "provided";
    else if (!is_watch && *match != '\0' && *route->rv == '\0')
        why = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
              "resourceVersion is provided";
    else if (!is_watch && strcmp(match, "Exact") == 0 && strcmp(route->rv, "0") == 0)
        why = "resourceVersionMatch: Forbidden: resourceVersionMatch \"Exact\" is forbidden for "
              "resourceVersion \"0\"";
    if (!why)
        return 0;
    return refuse(&call->refusal, 422, "Invalid", "ListOptions.meta.k8s.io \"\" is invalid: %s",
                  why);
}

static int parse_rv(struct call *call, uint64_t *ret_rv) {
    const char *text = call->route.rv;
    char *end = NULL;

    if (*text == '\0')
        return 0;
    errno = 0;
    *ret_rv = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text == '-')
        return refuse(&call->refusal, 400, "BadRequest",
                      "Invalid value: \"%.40s\": resourceVersion is not a number", text);
    return 0;
}

/* A token is base64 of "RV/NS/NAME". */
static int page_read(struct call *call, struct page *ret_page) {
    const char *token = call->route.continue_token;
    struct str text;
    char *end = NULL;

    if (*call->route.rv != '\0' && strcmp(call->route.rv, "0") != 0)
        return refuse(&call->refusal, 400, "BadRequest",
                      "specifying resource version is not allowed when using continue");
    str_init(&text, TOKEN_MAX_BYTES);
    base64_decode(&text, token, strlen(token), NULL);
    if (text.data)
        ret_page->rv = strtoull(text.data, &end, 10);
    char *name = end && *end == '/' ? strchr(end + 1, '/') : NULL;

    if (name) {
        ret_page->ns = str_dup_len(end + 1, (size_t)(name - end - 1));
        ret_page->name = str_dup(name + 1);
    }
    str_done(&text);
    return name ? 0
                : refuse(&call->refusal, 400, "BadRequest", "continue key is not valid: %.60s",
                         token);
}

static char *page_token(uint64_t rv, const struct object *last) {
    auto_free char *text = str_printf("%llu/%s/%s", (unsigned long long)rv, last->ns, last->name);

    struct str token;

    str_init(&token, TOKEN_MAX_BYTES);
    base64_encode(&token, text, strlen(text), NULL);
    return token.data;
}

static void page_done(struct page *page) {
    free(page->ns);
    free(page->name);
}

/* 410, with a token that goes on from the same place in the list as it is now. */
static int refuse_expired(struct call *call, const struct page *page) {
    struct object last = {.ns = page->ns, .name = page->name};

    refuse(&call->refusal, 410, "Expired",
           "The provided continue parameter is too old to display a consistent list result. You "
           "can start a new list without the continue parameter, or use the continue token in this "
           "response to retrieve the remainder of the results. Continuing with the provided token "
           "results in an inconsistent list - objects that were created, modified, or deleted "
           "between the time the first chunk was returned and now may show up in the list.");
    call->refusal.continue_token = page_token(0, &last);
    return ERR_INVALID;
}

static int list_from(struct call *call, const struct object_set *then, uint64_t rv,
                     const struct page *page) {
    struct selector labels = {0};
    struct selector fields = {0};
    size_t first, end;
    size_t count = 0;
    /* A list from any version is served from memory whole, as the watch cache does. */
    const size_t limit = strcmp(call->route.rv, "0") != 0 ? (size_t)call->route.limit : 0;

    if (read_selectors(call, &labels, &fields) < 0)
        return ERR_INVALID;
    const bool all = labels.term_count == 0 && fields.term_count == 0;

    object_set_range(then, call->route.ns, &first, &end);
    if (page->name) {
        const size_t after = object_set_after(then, page->ns, page->name);

        first = after > first ? after : first;
    }
    size_t at = first;
    auto_free struct object **found =
        end > first ? str_alloc(end - first, sizeof(struct object *)) : NULL;

    for (; at < end && (limit == 0 || count < limit); at++) {
        struct object *object = then->at[at];

        if (all || (selector_has_labels(&labels, object->tree) &&
                    selector_has_fields(&fields, object->tree)))
            found[count++] = object;
    }
    auto_free char *token = at < end && count > 0 ? page_token(rv, found[count - 1]) : NULL;

    answer_list(call, found, count, rv, token, token && all ? (int64_t)(end - at) : -1);
    selector_done(&labels);
    selector_done(&fields);
    return 0;
}
