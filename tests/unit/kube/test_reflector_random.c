/* Random scripts against a small model of an API server; a failing seed prints itself. */
#include "kube/reflector.h"

#include "unit.h"

#include <stdio.h>

#define SEED_COUNT 3000
#define KEY_COUNT 12
#define LOG_COUNT 400

struct object {
    int uid; /* 0: absent */
    int rv;
};

struct change {
    enum reflector_type type;
    int key;
    struct object object; /* of a delete: the version of the delete */
};

struct world {
    struct random rng;
    uint64_t seed;
    int rv;
    int uids;
    int compacted;
    struct object objects[KEY_COUNT];
    struct object page[KEY_COUNT]; /* the snapshot that a continue token names */
    int page_rv;
    struct change log[LOG_COUNT];
    int log_count;
    struct object told[KEY_COUNT]; /* what the handlers know */
    int gone[KEY_COUNT];           /* the last uid they were told is deleted */
    const char *wrong;
    struct reflector *r;
    struct reflector_request request;
    bool open;
    int next_key; /* of the list under way */
    int next_log; /* of the watch under way */
    int64_t now_ms;
    int64_t due_ms;
    int requests;
    char token[20];
};

static bool chance(struct world *w, uint64_t permille) {
    return random_below(&w->rng, 1000) < permille;
}

static void tell(void *context, enum store_change change, const struct store_item *item) {
    struct world *w = context;
    const int key = atoi(item->key + 2);
    struct object *known = &w->told[key];
    const struct object object = {atoi(item->uid), atoi(item->rv)};

    if (change == STORE_ADD && known->uid != 0)
        w->wrong = "add of a known key";
    if (change != STORE_ADD && known->uid != object.uid)
        w->wrong = "update or delete of another uid";
    if (change == STORE_ADD && object.uid <= w->gone[key])
        w->wrong = "a deleted object came back";
    if (change == STORE_DELETE)
        w->gone[key] = object.uid;
    if (change == STORE_UPDATE && object.rv <= known->rv)
        w->wrong = "update that goes back";
    *known = change == STORE_DELETE ? (struct object){0, 0} : object;
}

static void step(struct world *w, struct reflector_event e) {
    e.serial = w->request.serial;
    const struct reflector_out out = reflector_step(w->r, &e, w->now_ms);

    w->due_ms = out.again_at_ms;
    if (out.drop)
        w->open = false;
    if (!out.send)
        return;
    w->request = out.request;
    w->open = true;
    w->requests++;
    if (out.request.continue_token) {
        w->next_key = atoi(out.request.continue_token);
        return;
    }
    w->next_key = 0;
    memcpy(w->page, w->objects, sizeof w->page);
    w->page_rv = w->rv;
    const int from = out.request.rv ? atoi(out.request.rv) : w->rv;

    w->next_log = 0;
    while (w->next_log < w->log_count && w->log[w->next_log].object.rv <= from)
        w->next_log++;
    if (out.request.send_initial_events)
        w->next_log = w->log_count;
}

static void simple(struct world *w, enum reflector_event_kind kind, int status) {
    if (kind == REFLECTOR_END || kind == REFLECTOR_BROKEN)
        w->open = false;
    step(w, (struct reflector_event){.kind = kind,
                                     .status = status,
                                     .type = REFLECTOR_ERROR,
                                     .retry_after_ms = status == 429 ? 3000 : 0});
}

static void send_item(struct world *w, enum reflector_event_kind kind, enum reflector_type type,
                      int key, struct object object) {
    char texts[3][20];

    snprintf(texts[0], 20, "n/%d", key);
    snprintf(texts[1], 20, "%d", object.uid);
    snprintf(texts[2], 20, "%d", object.rv);
    step(w, (struct reflector_event){
                .kind = kind, .type = type, .item = {texts[0], texts[1], texts[2], malloc(1)}});
}

static void send_bookmark(struct world *w, bool initial_end, int rv) {
    char text[20];

    snprintf(text, sizeof text, "%d", rv);
    step(w, (struct reflector_event){.kind = REFLECTOR_CHANGE,
                                     .type = REFLECTOR_BOOKMARK,
                                     .rv = text,
                                     .initial_end = initial_end});
}

static void mutate(struct world *w) {
    const int key = (int)random_below(&w->rng, KEY_COUNT);
    struct object *object = &w->objects[key];
    struct change change = {REFLECTOR_MODIFIED, key, {0, 0}};

    if (w->log_count == LOG_COUNT)
        return;
    w->rv += 1 + (int)random_below(&w->rng, 5);
    if (object->uid == 0) {
        change.type = REFLECTOR_ADDED;
        object->uid = ++w->uids;
    } else if (chance(w, 400)) {
        change.type = REFLECTOR_DELETED;
    }
    object->rv = w->rv;
    change.object = *object;
    if (change.type == REFLECTOR_DELETED)
        *object = (struct object){0, 0};
    w->log[w->log_count++] = change;
}

/* One random fault on the open request; false if this one came out as none. */
static bool fault(struct world *w) {
    static const int heads[] = {410, 429, 500, 503, 403, 422};

    switch (random_below(&w->rng, 8)) {
    case 0:
        simple(w, REFLECTOR_BROKEN, 0);
        return true;
    case 1:
        simple(w, REFLECTOR_END, 0);
        return true;
    case 2:
        simple(w, REFLECTOR_HEAD, heads[random_below(&w->rng, 6)]);
        return true;
    case 3:
        simple(w, REFLECTOR_GARBLED, 0);
        return true;
    case 4:
        simple(w, REFLECTOR_CHANGE, heads[random_below(&w->rng, 4)]);
        return true;
    case 5:
        w->compacted = w->rv;
        return false;
    default: /* a piece of the stream comes twice */
        if (w->request.watch && !w->request.send_initial_events && w->next_log > 0)
            w->next_log -= (int)random_below(&w->rng, w->next_log < 4 ? w->next_log : 4);
        return false;
    }
}

static void serve_list(struct world *w) {
    const uint64_t serial = w->request.serial;
    char rv[20];

    step(w, (struct reflector_event){.kind = REFLECTOR_HEAD, .status = 200});
    int stop = w->request.limit ? w->next_key + 5 : KEY_COUNT;

    for (int key = w->next_key; key < KEY_COUNT && key < stop; key++)
        if (w->page[key].uid)
            send_item(w, REFLECTOR_ITEM, REFLECTOR_ADDED, key, w->page[key]);
    if (w->request.serial != serial)
        return;
    snprintf(rv, sizeof rv, "%d", w->page_rv);
    snprintf(w->token, sizeof w->token, "%d", stop);
    w->open = false;
    step(w, (struct reflector_event){.kind = REFLECTOR_LIST_END,
                                     .rv = rv,
                                     .continue_token = stop < KEY_COUNT ? w->token : NULL});
}

static void serve_watch(struct world *w) {
    const uint64_t serial = w->request.serial;

    if (!w->request.send_initial_events && w->request.rv && w->next_key == 0 &&
        atoi(w->request.rv) < w->compacted && w->next_log < w->log_count) {
        simple(w, chance(w, 500) ? REFLECTOR_HEAD : REFLECTOR_CHANGE, 410);
        return;
    }
    if (w->next_key == 0) {
        step(w, (struct reflector_event){.kind = REFLECTOR_HEAD, .status = 200});
        if (w->request.send_initial_events) {
            for (int key = KEY_COUNT - 1; key >= 0; key--)
                if (w->page[key].uid)
                    send_item(w, REFLECTOR_CHANGE, REFLECTOR_ADDED, key, w->page[key]);
            if (chance(w, 900))
                send_bookmark(w, true, w->page_rv);
            else
                simple(w, REFLECTOR_BROKEN, 0);
        }
        w->next_key = 1; /* the head was sent */
    }
    while (w->open && w->request.serial == serial && w->next_log < w->log_count && chance(w, 800)) {
        const struct change *c = &w->log[w->next_log++];

        send_item(w, REFLECTOR_CHANGE, c->type, c->key, c->object);
    }
    if (w->open && w->request.serial == serial && w->next_log == w->log_count)
        send_bookmark(w, false, w->rv);
}

static bool equal(const struct world *w) {
    for (int key = 0; key < KEY_COUNT; key++) {
        char text[20];

        snprintf(text, sizeof text, "n/%d", key);
        const struct store_item *item = store_get(reflector_store(w->r), text);
        const int uid = item ? atoi(item->uid) : 0, rv = item ? atoi(item->rv) : 0;

        if (uid != w->objects[key].uid || rv != w->objects[key].rv || w->told[key].uid != uid ||
            w->told[key].rv != rv)
            return false;
    }
    return true;
}

static void turn(struct world *w, bool faults) {
    w->now_ms += 1 + (int64_t)random_below(&w->rng, 4000);
    if (faults && chance(w, 600))
        mutate(w);
    if (!w->open && w->now_ms >= w->due_ms)
        step(w, (struct reflector_event){.kind = REFLECTOR_TIMER});
    if (!w->open || (faults && chance(w, 250) && fault(w)) || !w->open)
        return;
    if (w->request.watch)
        serve_watch(w);
    else
        serve_list(w);
}

static const char *run(uint64_t seed) {
    struct world w = {.rng = {seed}, .seed = seed, .rv = 5, .now_ms = 500000};
    const struct reflector_config config = {.max_items = KEY_COUNT,
                                            .free_object = free,
                                            .sink = tell,
                                            .context = &w,
                                            .watch_list = seed % 2};

    w.r = reflector_new(&config, (struct random){seed});
    for (int i = 0; i < 200; i++)
        turn(&w, true);
    for (int i = 0; i < 150; i++)
        turn(&w, false);
    if (!w.wrong && !equal(&w))
        w.wrong = "the cache is not what the server has";
    if (!w.wrong && reflector_status(w.r).suspect)
        w.wrong = "suspect for ever";
    if (!w.wrong && w.requests > 260)
        w.wrong = "too many requests";
    reflector_free(w.r);
    return w.wrong;
}

static void C27_C37_every_seed_converges(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        const char *wrong = run(seed);

        if (wrong)
            fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(C27_C37_every_seed_converges)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
