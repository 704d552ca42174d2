#include "apiserver/garbage.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREGROUND "foregroundDeletion"
#define ORPHAN "orphan"
#define CRD_CLEANUP "customresourcecleanup.apiextensions.k8s.io"
#define GRACE_DEFAULT_S 30
#define GRACE_MAX_S (INT64_C(366) * 86400)

enum job_type {
    JOB_GONE,       /* what was owned by this uid */
    JOB_FOREGROUND, /* this uid waits for what it owns */
    JOB_ORPHAN,     /* what is owned by this uid is set free */
    JOB_NAMESPACE,  /* all content of this namespace is to go */
    JOB_EMPTY,      /* this namespace may be empty now */
    JOB_CRD,        /* all objects of this CRD are to go */
    JOB_CRD_EMPTY,  /* this CRD's objects may be gone now */
};

struct job {
    enum job_type type;
    char *about;
};

struct grace {
    char *id;
    char *uid;
    int64_t due_ms;
};

struct garbage {
    json_t *places; /* uid: id of a live object */
    json_t *owned;  /* owner's uid: { id: null } */
    struct job *jobs;
    size_t job_count;
    size_t job_room;
    struct grace *graces; /* pods that end by themselves; absent owners have due_ms 0 */
    size_t grace_count;
};

static void index_object(struct garbage *garbage, const struct object *object, bool add);
static void note_deleted(struct apiserver *server, const struct object *object);
static void push(struct garbage *garbage, enum job_type type, const char *about);
static void push_grace(struct garbage *garbage, const struct object *object, int64_t due_ms);
static void do_job(struct apiserver *server, const struct job *job);
static void do_gone(struct apiserver *server, const char *uid);
static void do_foreground(struct apiserver *server, const char *uid);
static void do_orphan(struct apiserver *server, const char *uid);
static void do_set(struct apiserver *server, struct object_set *set, const char *ns);
static void do_namespace(struct apiserver *server, const char *name);
static void do_empty(struct apiserver *server, const char *name);
static void do_crd(struct apiserver *server, const char *name, bool delete_first);
static bool mark_deleted(struct apiserver *server, struct object *object, json_t *finalizers,
                         int64_t grace_s);
static json_t *finalizers_for(const struct apiserver *server, const struct object *object,
                              const struct removal *removal);
static int64_t grace_of(const struct object *object, const struct removal *removal);
static void drop_finalizer(struct apiserver *server, struct object *object, const char *name);
static bool drop_owner(struct apiserver *server, struct object *object, const char *uid,
                       bool always);
static bool end_grace(struct apiserver *server, const struct grace *grace);
static char *id_of(const struct object *object);
static struct object *object_at(struct apiserver *server, const char *id);
static struct object *object_by_uid(struct apiserver *server, const char *uid);
static const json_t *meta(const json_t *tree, const char *key);
static const char *meta_text(const json_t *tree, const char *key);
static bool has_finalizer(const json_t *tree, const char *name);
static json_t *edited_copy(const json_t *tree);

struct garbage *garbage_new(void) {
    struct garbage *garbage = str_alloc(1, sizeof *garbage);

    garbage->places = json_object();
    garbage->owned = json_object();
    return garbage;
}

void garbage_free(struct garbage *garbage) {
    if (!garbage)
        return;
    for (size_t i = 0; i < garbage->job_count; i++)
        free(garbage->jobs[i].about);
    for (size_t i = 0; i < garbage->grace_count; i++) {
        free(garbage->graces[i].id);
        free(garbage->graces[i].uid);
    }
    free(garbage->jobs);
    free(garbage->graces);
    json_decref(garbage->places);
    json_decref(garbage->owned);
    free(garbage);
}

void garbage_note(struct apiserver *server, const struct change *change) {
    struct garbage *garbage = server->garbage;
    const json_t *owners = meta(change->now->tree, "ownerReferences");

    if (change->type == CHANGE_MODIFIED &&
        json_equal(owners, meta(change->before->tree, "ownerReferences")))
        return;
    if (change->before)
        index_object(garbage, change->before, false);
    if (change->type == CHANGE_DELETED) {
        note_deleted(server, change->now);
        return;
    }
    index_object(garbage, change->now, true);
    bool absent = json_array_size(owners) > 0;
    size_t i;
    json_t *owner;

    json_array_foreach(owners, i, owner) {
        const char *uid = json_string_value(json_object_get(owner, "uid"));

        if (uid && json_object_get(garbage->places, uid))
            absent = false;
    }
    if (absent)
        push_grace(garbage, change->now, 0);
}

bool garbage_delete(struct apiserver *server, struct object *object,
                    const struct removal *removal) {
    const int64_t grace_s = grace_of(object, removal);
    const json_t *since = meta(object->tree, "deletionTimestamp");
    const int64_t grace_now_s =
        json_integer_value(meta(object->tree, "deletionGracePeriodSeconds"));
    json_auto_t *finalizers = finalizers_for(server, object, removal);
    const char *uid = meta_text(object->tree, "uid");

    object_ref(object);
    bool gone = false;

    if (json_array_size(finalizers) == 0 && grace_s == 0 && object->set != server->namespaces) {
        object_unref(objects_remove(server->objects, object->set, object->ns, object->name));
        gone = true;
    } else if (!since || grace_s < grace_now_s ||
               json_array_size(finalizers) != json_array_size(meta(object->tree, "finalizers"))) {
        mark_deleted(server, object, finalizers, grace_s);
        if (removal->policy == REMOVAL_FOREGROUND)
            push(server->garbage, JOB_FOREGROUND, uid);
        if (removal->policy == REMOVAL_ORPHAN)
            push(server->garbage, JOB_ORPHAN, uid);
        if (object->set == server->namespaces)
            push(server->garbage, JOB_NAMESPACE, object->name);
        if (object->set == server->crds)
            push(server->garbage, JOB_CRD, object->name);
    }
    object_unref(object);
    return gone;
}

bool garbage_is_free(const json_t *tree) {
    const char *kind = json_string_value(json_object_get(tree, "kind"));
    const char *version = json_string_value(json_object_get(tree, "apiVersion"));
    const bool is_namespace =
        kind && version && strcmp(kind, "Namespace") == 0 && strcmp(version, "v1") == 0;
    const json_t *content = json_object_get(json_object_get(tree, "spec"), "finalizers");

    return meta(tree, "deletionTimestamp") && json_array_size(meta(tree, "finalizers")) == 0 &&
           json_integer_value(meta(tree, "deletionGracePeriodSeconds")) == 0 &&
           !(is_namespace && json_array_size(content) > 0);
}

void garbage_run(struct apiserver *server) {
    struct garbage *garbage = server->garbage;

    for (size_t i = 0; i < garbage->job_count; i++) {
        const struct job job = garbage->jobs[i]; /* the array may move meanwhile */

        do_job(server, &job);
        free(job.about);
    }
    garbage->job_count = 0;
}

int64_t garbage_tick(struct apiserver *server, int64_t now_ms) {
    struct garbage *garbage = server->garbage;
    int64_t next_ms = INT64_MAX;
    size_t kept = 0;

    for (size_t i = 0; i < garbage->grace_count; i++) {
        const struct grace grace = garbage->graces[i];

        if (grace.due_ms > now_ms || !end_grace(server, &grace)) {
            garbage->graces[kept++] = grace;
            next_ms = grace.due_ms < next_ms ? grace.due_ms : next_ms;
            continue;
        }
        free(grace.id);
        free(grace.uid);
    }
    garbage->grace_count = kept;
    garbage_run(server);
    return next_ms;
}

bool garbage_is_ending(const struct apiserver *server, const char *ns) {
    const struct object *object = object_set_get(server->namespaces, "", ns);

    return object && meta(object->tree, "deletionTimestamp");
}

static void index_object(struct garbage *garbage, const struct object *object, bool add) {
    const json_t *owners = meta(object->tree, "ownerReferences");
    const char *own_uid = meta_text(object->tree, "uid");
    auto_free char *id = id_of(object);
    size_t i;
    json_t *owner;

    if (add)
        json_object_set_new(garbage->places, own_uid, json_string(id));
    else
        json_object_del(garbage->places, own_uid);
    json_array_foreach(owners, i, owner) {
        const char *uid = json_string_value(json_object_get(owner, "uid"));
        json_t *ids = uid ? json_object_get(garbage->owned, uid) : NULL;

        if (!uid)
            continue;
        if (add && !ids) {
            ids = json_object();
            json_object_set_new(garbage->owned, uid, ids);
        }
        if (add)
            json_object_set_new(ids, id, json_null());
        else
            json_object_del(ids, id);
        if (!add && json_object_size(ids) == 0)
            json_object_del(garbage->owned, uid);
    }
}

/* What may follow from the end of an object. */
static void note_deleted(struct apiserver *server, const struct object *object) {
    const json_t *owners = meta(object->tree, "ownerReferences");
    const char *own_uid = meta_text(object->tree, "uid");
    size_t i;
    json_t *owner;

    if (json_object_get(server->garbage->owned, own_uid))
        push(server->garbage, JOB_GONE, own_uid);
    json_array_foreach(owners, i, owner) {
        const char *uid = json_string_value(json_object_get(owner, "uid"));
        const struct object *held = uid ? object_by_uid(server, uid) : NULL;

        if (held && has_finalizer(held->tree, FOREGROUND))
            push(server->garbage, JOB_FOREGROUND, uid);
    }
    if (garbage_is_ending(server, object->ns))
        push(server->garbage, JOB_EMPTY, object->ns);
    if (*object->set->group == '\0')
        return;
    auto_free char *crd_name = str_printf("%s.%s", object->set->resource, object->set->group);
    const struct object *crd = object_set_get(server->crds, "", crd_name);

    if (crd && meta(crd->tree, "deletionTimestamp"))
        push(server->garbage, JOB_CRD_EMPTY, crd_name);
}

static void push(struct garbage *garbage, enum job_type type, const char *about) {
    const struct job *last = garbage->job_count > 0 ? &garbage->jobs[garbage->job_count - 1] : NULL;

    /* Not the job that runs now: it is before this one. Deleting a thousand objects of a namespace
     * asks a thousand times in a row whether it is empty. */
    if (last && last->about && last->type == type && strcmp(last->about, about) == 0 &&
        type == JOB_EMPTY)
        return;
    if (garbage->job_count == garbage->job_room) {
        garbage->job_room = garbage->job_room * 2 + 16;
        garbage->jobs = str_resize(garbage->jobs, garbage->job_room, sizeof(struct job));
    }
    garbage->jobs[garbage->job_count++] = (struct job){type, str_dup(about)};
}

static void push_grace(struct garbage *garbage, const struct object *object, int64_t due_ms) {
    garbage->graces = str_resize(garbage->graces, garbage->grace_count + 1, sizeof(struct grace));
    garbage->graces[garbage->grace_count++] =
        (struct grace){id_of(object), str_dup(meta_text(object->tree, "uid")), due_ms};
}

static void do_job(struct apiserver *server, const struct job *job) {
    switch (job->type) {
    case JOB_GONE:
        do_gone(server, job->about);
        break;
    case JOB_FOREGROUND:
        do_foreground(server, job->about);
        break;
    case JOB_ORPHAN:
        do_orphan(server, job->about);
        break;
    case JOB_NAMESPACE:
        do_namespace(server, job->about);
        break;
    case JOB_EMPTY:
        do_empty(server, job->about);
        break;
    case JOB_CRD:
    case JOB_CRD_EMPTY:
        do_crd(server, job->about, job->type == JOB_CRD);
        break;
    }
}

static void do_gone(struct apiserver *server, const char *uid) {
    json_auto_t *ids = json_copy(json_object_get(server->garbage->owned, uid));
    const struct removal removal = {REMOVAL_BACKGROUND, -1};
    const char *id;
    json_t *unused;

    json_object_foreach(ids, id, unused) {
        struct object *object = object_at(server, id);

        if (object && !drop_owner(server, object, uid, false))
            garbage_delete(server, object, &removal);
    }
}

/* Deletes what the object owns; once nothing is left that blocks it, it goes too. */
static void do_foreground(struct apiserver *server, const char *uid) {
    json_auto_t *ids = json_copy(json_object_get(server->garbage->owned, uid));
    const struct removal removal = {REMOVAL_FOREGROUND, -1};
    const char *id;
    json_t *unused;
    bool blocked = false;

    json_object_foreach(ids, id, unused) {
        struct object *object = object_at(server, id);
        size_t i;
        json_t *owner;

        if (!object)
            continue;
        bool blocks = false;

        json_array_foreach(meta(object->tree, "ownerReferences"), i, owner) {
            const char *of = json_string_value(json_object_get(owner, "uid"));

            blocks |= of && strcmp(of, uid) == 0 &&
                      json_is_true(json_object_get(owner, "blockOwnerDeletion"));
        }
        const bool gone =
            !meta(object->tree, "deletionTimestamp") && garbage_delete(server, object, &removal);

        blocked |= blocks && !gone;
    }
    struct object *held = object_by_uid(server, uid);

    if (held && !blocked)
        drop_finalizer(server, held, FOREGROUND);
}

static void do_orphan(struct apiserver *server, const char *uid) {
    json_auto_t *ids = json_copy(json_object_get(server->garbage->owned, uid));
    const char *id;
    json_t *unused;

    json_object_foreach(ids, id, unused) {
        struct object *object = object_at(server, id);

        if (object)
            drop_owner(server, object, uid, true);
    }
    struct object *held = object_by_uid(server, uid);

    if (held)
        drop_finalizer(server, held, ORPHAN);
}

/* Deletes everything of one set in a namespace, "" for all. */
static void do_set(struct apiserver *server, struct object_set *set, const char *ns) {
    const struct removal removal = {REMOVAL_BACKGROUND, -1};
    size_t first, end;

    object_set_range(set, ns, &first, &end);
    const size_t count = end - first;
    struct object **list = str_alloc(count + 1, sizeof(struct object *));

    for (size_t i = 0; i < count; i++)
        list[i] = object_ref(set->at[first + i]);
    for (size_t i = 0; i < count; i++) {
        struct object *now = object_set_get(set, list[i]->ns, list[i]->name);

        if (now)
            garbage_delete(server, now, &removal);
    }
    object_list_free(list, count);
}

static void do_namespace(struct apiserver *server, const char *name) {
    for (size_t i = 0; objects_set_at(server->objects, i); i++)
        do_set(server, objects_set_at(server->objects, i), name);
    do_empty(server, name);
}

/* Removes a namespace that is being deleted and has nothing in it. */
static void do_empty(struct apiserver *server, const char *name) {
    struct object *object = object_set_get(server->namespaces, "", name);
    struct object_set *set;
    size_t first, end;

    if (!object || !meta(object->tree, "deletionTimestamp"))
        return;
    for (size_t i = 0; (set = objects_set_at(server->objects, i)) != NULL; i++) {
        object_set_range(set, name, &first, &end);
        if (end > first)
            return;
    }
    if (json_array_size(meta(object->tree, "finalizers")) == 0) {
        object_unref(objects_remove(server->objects, object->set, "", name));
        return;
    }
    json_t *copy = edited_copy(object->tree);
    json_t *spec = json_copy(json_object_get(copy, "spec"));

    json_object_del(spec, "finalizers");
    json_object_set_new(copy, "spec", spec);
    objects_put(server->objects, object->set, copy, NULL, NULL);
}

static void do_crd(struct apiserver *server, const char *name, bool delete_first) {
    struct object *crd = object_set_get(server->crds, "", name);
    const json_t *spec = crd ? json_object_get(crd->tree, "spec") : NULL;
    const char *group = json_string_value(json_object_get(spec, "group"));
    const char *plural =
        json_string_value(json_object_get(json_object_get(spec, "names"), "plural"));

    if (!group || !plural || !meta(crd->tree, "deletionTimestamp"))
        return;
    struct object_set *set = objects_set(server->objects, group, plural);

    if (delete_first)
        do_set(server, set, "");
    crd = object_set_get(server->crds, "", name);
    if (crd && set->count == 0)
        drop_finalizer(server, crd, CRD_CLEANUP);
}

static bool mark_deleted(struct apiserver *server, struct object *object, json_t *finalizers,
                         int64_t grace_s) {
    json_t *copy = edited_copy(object->tree);
    json_t *metadata = json_object_get(copy, "metadata");
    const json_int_t generation = json_integer_value(json_object_get(metadata, "generation"));
    const bool first = !json_object_get(metadata, "deletionTimestamp");
    char time[SERVER_TIME_SIZE];

    server_time_in(server, grace_s, time);
    if (first || grace_s > 0)
        json_object_set_new(metadata, "deletionTimestamp", json_string(time));
    json_object_set_new(metadata, "deletionGracePeriodSeconds", json_integer(grace_s));
    if (json_array_size(finalizers) > 0)
        json_object_set(metadata, "finalizers", finalizers);
    if (first && generation > 0)
        json_object_set_new(metadata, "generation", json_integer(generation + 1));
    if (object->set == server->namespaces)
        json_object_set_new(copy, "status", json_pack("{s:s}", "phase", "Terminating"));
    struct object *marked = NULL;

    if (objects_put(server->objects, object->set, copy, &marked, NULL) < 0)
        return false;
    if (grace_s > 0)
        push_grace(server->garbage, marked, clock_mono_ms(server->clock) + grace_s * 1000);
    object_unref(marked);
    return true;
}

/* The finalizers that the object has once it is marked. New reference. */
static json_t *finalizers_for(const struct apiserver *server, const struct object *object,
                              const struct removal *removal) {
    json_t *list = json_array();
    const json_t *have = meta(object->tree, "finalizers");
    const bool fresh = !meta(object->tree, "deletionTimestamp");
    const char *uid = meta_text(object->tree, "uid");
    size_t i;
    json_t *name;

    json_array_foreach(have, i, name) json_array_append(list, name);
    if (fresh && removal->policy == REMOVAL_FOREGROUND &&
        !has_finalizer(object->tree, FOREGROUND) && json_object_get(server->garbage->owned, uid))
        json_array_append_new(list, json_string(FOREGROUND));
    if (fresh && removal->policy == REMOVAL_ORPHAN && !has_finalizer(object->tree, ORPHAN) &&
        json_object_get(server->garbage->owned, uid))
        json_array_append_new(list, json_string(ORPHAN));
    return list;
}

/* Only a pod on a node that has not ended has a grace: its kubelet ends it. */
static int64_t grace_of(const struct object *object, const struct removal *removal) {
    const json_t *spec = json_object_get(object->tree, "spec");
    const char *node = json_string_value(json_object_get(spec, "nodeName"));
    const char *phase =
        json_string_value(json_object_get(json_object_get(object->tree, "status"), "phase"));
    const json_t *own = json_object_get(spec, "terminationGracePeriodSeconds");

    if (strcmp(object->set->resource, "pods") != 0 || *object->set->group != '\0' || !node ||
        *node == '\0' ||
        (phase && (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0)))
        return 0;
    int64_t grace_s = removal->grace_s;

    if (grace_s < 0)
        grace_s = json_is_integer(own) ? json_integer_value(own) : GRACE_DEFAULT_S;
    return grace_s < 0 ? 0 : grace_s < GRACE_MAX_S ? grace_s : GRACE_MAX_S;
}

static void drop_finalizer(struct apiserver *server, struct object *object, const char *name) {
    if (!has_finalizer(object->tree, name))
        return;
    json_t *copy = edited_copy(object->tree);
    json_t *metadata = json_object_get(copy, "metadata");
    json_t *kept = json_array();
    size_t i;
    json_t *finalizer;

    json_array_foreach(json_object_get(metadata, "finalizers"), i, finalizer) {
        const char *text = json_string_value(finalizer);

        if (!text || strcmp(text, name) != 0)
            json_array_append(kept, finalizer);
    }
    if (json_array_size(kept) > 0)
        json_object_set(metadata, "finalizers", kept);
    else
        json_object_del(metadata, "finalizers");
    json_decref(kept);
    if (!garbage_is_free(copy)) {
        objects_put(server->objects, object->set, copy, NULL, NULL);
        return;
    }
    json_decref(copy);
    object_unref(objects_remove(server->objects, object->set, object->ns, object->name));
}

/* Takes an owner out of an object that has another living one, or always. Returns whether it did.
 */
static bool drop_owner(struct apiserver *server, struct object *object, const char *uid,
                       bool always) {
    json_auto_t *kept = json_array();
    bool lives = false;
    size_t i;
    json_t *owner;

    json_array_foreach(meta(object->tree, "ownerReferences"), i, owner) {
        const char *of = json_string_value(json_object_get(owner, "uid"));

        if (of && strcmp(of, uid) == 0)
            continue;
        json_array_append(kept, owner);
        lives |= of && json_object_get(server->garbage->places, of);
    }
    if (!lives && !always)
        return false;
    json_t *copy = edited_copy(object->tree);

    if (json_array_size(kept) > 0)
        json_object_set(json_object_get(copy, "metadata"), "ownerReferences", kept);
    else
        json_object_del(json_object_get(copy, "metadata"), "ownerReferences");
    objects_put(server->objects, object->set, copy, NULL, NULL);
    return true;
}

/* Returns true: it needs no look any more. */
static bool end_grace(struct apiserver *server, const struct grace *grace) {
    struct object *object = object_at(server, grace->id);
    const struct removal now = {REMOVAL_BACKGROUND, 0};
    size_t i;
    json_t *owner;

    if (!object || strcmp(meta_text(object->tree, "uid"), grace->uid) != 0)
        return true;
    if (grace->due_ms == 0) { /* made for an owner that was not there, unless it has one by now */
        json_array_foreach(meta(object->tree, "ownerReferences"), i, owner) {
            const char *uid = json_string_value(json_object_get(owner, "uid"));

            if (uid && json_object_get(server->garbage->places, uid))
                return true;
        }
        if (json_array_size(meta(object->tree, "ownerReferences")) > 0)
            garbage_delete(server, object, &(struct removal){REMOVAL_BACKGROUND, -1});
        return true;
    }
    if (meta(object->tree, "deletionTimestamp"))
        garbage_delete(server, object, &now);
    return true;
}

/* "group/resource/namespace/name": none of them holds a slash. */
static char *id_of(const struct object *object) {
    return str_printf("%s/%s/%s/%s", object->set->group, object->set->resource, object->ns,
                      object->name);
}

static struct object *object_at(struct apiserver *server, const char *id) {
    auto_free char *copy = str_dup(id);
    char *resource = strchr(copy, '/');
    char *ns = strchr(resource + 1, '/');
    char *name = strchr(ns + 1, '/');

    *resource++ = *ns++ = *name++ = '\0';
    return object_set_get(objects_set(server->objects, copy, resource), ns, name);
}

static struct object *object_by_uid(struct apiserver *server, const char *uid) {
    const char *id = json_string_value(json_object_get(server->garbage->places, uid));

    return id ? object_at(server, id) : NULL;
}

/* A field of metadata; NULL if it is absent or null. */
static const json_t *meta(const json_t *tree, const char *key) {
    const json_t *value = json_object_get(json_object_get(tree, "metadata"), key);

    return json_is_null(value) ? NULL : value;
}

static const char *meta_text(const json_t *tree, const char *key) {
    const char *text = json_string_value(meta(tree, key));

    return text ? text : "";
}

static bool has_finalizer(const json_t *tree, const char *name) {
    size_t i;
    json_t *finalizer;

    json_array_foreach(meta(tree, "finalizers"), i, finalizer) {
        const char *text = json_string_value(finalizer);

        if (text && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

/* A copy whose metadata may be changed; the rest is shared. */
static json_t *edited_copy(const json_t *tree) {
    json_t *copy = json_copy((json_t *)tree);

    json_object_set_new(copy, "metadata", json_copy(json_object_get(tree, "metadata")));
    return copy;
}
