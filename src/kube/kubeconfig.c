#include "kube/kubeconfig.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/yaml.h"
#include "kube/keyfile.h"
#include "kube/kubeconfig_entry.h"

#include <string.h>

static const struct {
    const char *list; /* the file's key */
    const char *one;  /* the key of an entry's body */
} kinds[KUBECONFIG_KINDS] = {
    [KUBECONFIG_CLUSTER] = {"clusters", "cluster"},
    [KUBECONFIG_USER] = {"users", "user"},
    [KUBECONFIG_CONTEXT] = {"contexts", "context"},
};

struct source {
    char *name;
    char *folder;
};

struct kubeconfig {
    struct source sources[KUBECONFIG_FILES_MAX];
    size_t source_count;
    json_t *entries[KUBECONFIG_KINDS]; /* name to [index of source, body] */
    json_t *context_names;
    char *current;
};

static struct kubeconfig *config_new(void);
static int add_list(struct kubeconfig *config, const char *list, struct err *err);
static int add_file(struct kubeconfig *config, const char *path, struct err *err);
static int add_text(struct kubeconfig *config, const char *text, size_t size_bytes,
                    const char *name, const char *folder, struct err *err);
static bool is_blank(const char *text, size_t size_bytes);
static int add_root(struct kubeconfig *config, const json_t *root, struct err *err);
static int add_kind(struct kubeconfig *config, enum kubeconfig_kind kind, const json_t *root,
                    struct err *err);

int kubeconfig_load(const char *path, const char *list, const char *home,
                    struct kubeconfig **ret_config, struct err *err) {
    struct kubeconfig *config = config_new();
    int r = 0;

    if (path && path[0]) {
        r = add_file(config, path, err);
    } else if (list && list[0]) {
        r = add_list(config, list, err);
    } else if (home && home[0]) {
        auto_free char *file = str_printf("%s/.kube/config", home);

        r = add_file(config, file, err);
        r = r == ERR_NOTFOUND ? 0 : r;
    }
    if (r < 0) {
        kubeconfig_free(config);
        return r;
    }
    *ret_config = config;
    return 0;
}

int kubeconfig_parse(const char *text, size_t size_bytes, const char *source, const char *folder,
                     struct kubeconfig **ret_config, struct err *err) {
    struct kubeconfig *config = config_new();
    const int r = add_text(config, text, size_bytes, source, folder, err);

    if (r < 0) {
        kubeconfig_free(config);
        return r;
    }
    *ret_config = config;
    return 0;
}

void kubeconfig_free(struct kubeconfig *config) {
    if (!config)
        return;
    for (size_t i = 0; i < config->source_count; i++) {
        free(config->sources[i].name);
        free(config->sources[i].folder);
    }
    for (size_t kind = 0; kind < KUBECONFIG_KINDS; kind++)
        json_decref(config->entries[kind]);
    json_decref(config->context_names);
    free(config->current);
    free(config);
}

const char *kubeconfig_current(const struct kubeconfig *config) {
    return config->current;
}

const char *kubeconfig_context(const struct kubeconfig *config, size_t index) {
    return json_string_value(json_array_get(config->context_names, index));
}

bool kubeconfig_entry_find(const struct kubeconfig *config, enum kubeconfig_kind kind,
                           const char *name, struct kubeconfig_entry *ret_entry) {
    const json_t *entry = json_object_get(config->entries[kind], name);

    if (!entry)
        return false;
    const struct source *source = &config->sources[json_integer_value(json_array_get(entry, 0))];
    const json_t *body = json_array_get(entry, 1);

    *ret_entry = (struct kubeconfig_entry){
        .kind = kind,
        .name = name,
        .source = source->name,
        .folder = source->folder,
        .body = json_is_object(body) ? body : NULL,
    };
    return true;
}

int kubeconfig_entry_fault(const struct kubeconfig_entry *entry, int code, struct err *err) {
    return err_wrap(err, code, "%.80s: %s \"%.40s\"", entry->source, kinds[entry->kind].one,
                    entry->name);
}

static struct kubeconfig *config_new(void) {
    struct kubeconfig *config = str_alloc(1, sizeof *config);

    for (size_t kind = 0; kind < KUBECONFIG_KINDS; kind++)
        config->entries[kind] = json_object();
    config->context_names = json_array();
    return config;
}

static int add_list(struct kubeconfig *config, const char *list, struct err *err) {
    for (const char *piece = list; *piece;) {
        const size_t len = strcspn(piece, ":");

        if (len > 0) {
            auto_free char *path = str_dup_len(piece, len);
            const int r = add_file(config, path, err);

            if (r < 0 && r != ERR_NOTFOUND)
                return r;
        }
        piece += len + (piece[len] == ':');
    }
    return 0;
}

static int add_file(struct kubeconfig *config, const char *path, struct err *err) {
    const char *slash = strrchr(path, '/');
    auto_free char *folder = !slash          ? str_dup(".")
                             : slash == path ? str_dup("/")
                                             : str_dup_len(path, (size_t)(slash - path));
    char *text = NULL;
    size_t size_bytes = 0;
    int r = keyfile_read(path, &text, &size_bytes, err);

    if (r < 0)
        return err_wrap(err, r, "kubeconfig");
    r = add_text(config, text, size_bytes, path, folder, err);
    explicit_bzero(text, size_bytes);
    free(text);
    return r;
}

static int add_text(struct kubeconfig *config, const char *text, size_t size_bytes,
                    const char *name, const char *folder, struct err *err) {
    json_auto_t *root = NULL;
    int r;

    if (size_bytes > KUBECONFIG_FILE_MAX_BYTES)
        return err_set(err, ERR_INVALID, "%.120s: more than %zu bytes", name,
                       KUBECONFIG_FILE_MAX_BYTES);
    if (config->source_count == KUBECONFIG_FILES_MAX)
        return err_set(err, ERR_INVALID, "%.120s: more than %d kubeconfig files; name fewer", name,
                       KUBECONFIG_FILES_MAX);
    config->sources[config->source_count++] =
        (struct source){.name = str_dup(name), .folder = str_dup(folder)};
    if (is_blank(text, size_bytes))
        return 0;
    r = yaml_parse(text, size_bytes, &root, err);
    if (r == 0 && !json_is_null(root))
        r = add_root(config, root, err);
    return r < 0 ? err_wrap(err, r, "%.120s", name) : 0;
}

/* A file of blanks and comments names nothing, and is no fault (kubectl makes empty ones). */
static bool is_blank(const char *text, size_t size_bytes) {
    bool comment = false;

    for (size_t at = 0; at < size_bytes; at++) {
        if (text[at] == '\n')
            comment = false;
        else if (text[at] == '#')
            comment = true;
        else if (!comment && text[at] != ' ' && text[at] != '\t' && text[at] != '\r')
            return false;
    }
    return true;
}

static int add_root(struct kubeconfig *config, const json_t *root, struct err *err) {
    const char *version = NULL;
    const char *kind = NULL;
    const char *current = NULL;
    int r;

    if (!json_is_object(root))
        return err_set(err, ERR_INVALID, "not a kubeconfig; a mapping with clusters is expected");
    if ((r = json_text(root, "apiVersion", &version, err)) < 0 ||
        (r = json_text(root, "kind", &kind, err)) < 0 ||
        (r = json_text(root, "current-context", &current, err)) < 0)
        return r;
    if ((version && version[0] && strcmp(version, "v1") != 0) ||
        (kind && kind[0] && strcmp(kind, "Config") != 0))
        return err_set(err, ERR_INVALID, "not a kubeconfig; apiVersion v1, kind Config is one");
    if (!config->current && current && current[0])
        config->current = str_dup(current);
    for (size_t i = 0; i < KUBECONFIG_KINDS; i++) {
        r = add_kind(config, (enum kubeconfig_kind)i, root, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What an earlier file named stays as it is, whole (C01); within one file a name is unique. */
static int add_kind(struct kubeconfig *config, enum kubeconfig_kind kind, const json_t *root,
                    struct err *err) {
    const json_int_t source = (json_int_t)config->source_count - 1;
    json_t *entries = config->entries[kind];
    const json_t *list = NULL;
    int r = json_list(root, kinds[kind].list, &list, err);
    json_auto_t *here = json_object();

    for (size_t i = 0; r >= 0 && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = NULL;
        const json_t *body = NULL;

        if ((r = json_text(item, "name", &name, err)) < 0 ||
            (r = json_child(item, kinds[kind].one, &body, err)) < 0)
            return err_wrap(err, r, "%s[%zu]", kinds[kind].list, i);
        if (!name || !name[0])
            return err_set(err, ERR_INVALID, "%s[%zu].name: is missing", kinds[kind].list, i);
        if (json_object_get(here, name))
            return err_set(err, ERR_INVALID, "%s: \"%.60s\" stands there twice; keep one",
                           kinds[kind].list, name);
        json_object_set_new(here, name, json_true());
        if (json_object_get(entries, name))
            continue;
        if (json_object_size(entries) == KUBECONFIG_ENTRIES_MAX)
            return err_set(err, ERR_INVALID, "%s: more than %d", kinds[kind].list,
                           KUBECONFIG_ENTRIES_MAX);
        json_t *entry = json_array();

        json_array_append_new(entry, json_integer(source));
        json_array_append(entry, (json_t *)body);
        json_object_set_new(entries, name, entry);
        if (kind == KUBECONFIG_CONTEXT)
            json_array_append_new(config->context_names, json_string(name));
    }
    return r < 0 ? r : 0;
}
