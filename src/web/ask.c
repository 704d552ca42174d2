#include "web/ask.h"

#include "base/str.h"

#include <pthread.h>
#include <stdlib.h>
#include <utlist.h>

enum ask_state { ASK_WAITING, ASK_RUNNING, ASK_ANSWERED };

struct ask_box {
    pthread_mutex_t lock; /* of the list, and of each question's state and reply */
    struct ask *asks;     /* in the order they were put */
    int count;
    void (*wake)(void *arg);
    void (*answered)(void *arg);
    void *arg;
};

struct ask_box *ask_box_new(void (*wake)(void *arg), void (*answered)(void *arg), void *arg) {
    struct ask_box *box = str_alloc(1, sizeof *box);

    pthread_mutex_init(&box->lock, NULL);
    box->wake = wake;
    box->answered = answered;
    box->arg = arg;
    return box;
}

void ask_box_free(struct ask_box *box) {
    struct ask *ask, *next;

    if (!box)
        return;
    DL_FOREACH_SAFE(box->asks, ask, next) {
        ask->free(ask);
    }
    pthread_mutex_destroy(&box->lock);
    free(box);
}

static void remove_ask(struct ask_box *box, struct ask *ask) {
    DL_DELETE(box->asks, ask);
    box->count--;
}

int ask_put(struct ask_box *box, struct ask *ask, struct http_reply *reply, int64_t due_ms,
            struct err *err) {
    int r = 0;

    ask->reply = reply;
    ask->due_ms = due_ms;
    ask->state = ASK_WAITING;
    pthread_mutex_lock(&box->lock);
    if (box->count >= ASK_MAX) {
        r = err_set(err, ERR_RETRY, "%d questions wait for the control loop already: try again",
                    ASK_MAX);
    } else {
        DL_APPEND(box->asks, ask);
        box->count++;
    }
    pthread_mutex_unlock(&box->lock);
    if (r == 0)
        box->wake(box->arg);
    return r;
}

void ask_forget(struct ask_box *box, const struct http_reply *reply) {
    struct ask *ask, *gone = NULL;

    pthread_mutex_lock(&box->lock);
    DL_FOREACH(box->asks, ask) {
        if (ask->reply == reply)
            break;
    }
    if (ask) {
        ask->reply = NULL;
        if (ask->state != ASK_RUNNING) {
            gone = ask;
            remove_ask(box, ask);
        }
    }
    pthread_mutex_unlock(&box->lock);
    if (gone)
        gone->free(gone);
}

/* The first question that can be answered, or is late, with the reply that waits for it; NULL:
 * none. One that is being run stays in the box, without its reply. */
static struct ask *next_due(struct ask_box *box, int64_t now_ms, struct http_reply **ret_reply,
                            bool *ret_late, bool *ret_running, int64_t *ret_due_ms) {
    struct ask *ask, *found = NULL;
    int64_t due_ms = INT64_MAX;

    pthread_mutex_lock(&box->lock);
    DL_FOREACH(box->asks, ask) {
        if (ask->state == ASK_ANSWERED || (ask->reply && ask->due_ms <= now_ms)) {
            found = ask;
            break;
        }
        if (ask->reply && ask->due_ms < due_ms)
            due_ms = ask->due_ms;
    }
    if (found) {
        *ret_reply = found->reply;
        *ret_late = found->state != ASK_ANSWERED;
        *ret_running = found->state == ASK_RUNNING;
        found->reply = NULL;
        if (!*ret_running)
            remove_ask(box, found);
    }
    pthread_mutex_unlock(&box->lock);
    *ret_due_ms = due_ms;
    return found;
}

int64_t ask_deliver(struct ask_box *box, int64_t now_ms) {
    struct http_reply *reply;
    bool late, running;
    int64_t due_ms;
    struct ask *ask;

    while ((ask = next_due(box, now_ms, &reply, &late, &running, &due_ms))) {
        /* Only this thread answers and only ask_deliver() frees what was answered, so a question
         * that is being run outlives this call. */
        if (reply)
            ask->answer(ask, reply, late);
        if (!running)
            ask->free(ask);
    }
    return due_ms;
}

static struct ask *take_waiting(struct ask_box *box) {
    struct ask *ask;

    pthread_mutex_lock(&box->lock);
    DL_FOREACH(box->asks, ask) {
        if (ask->state == ASK_WAITING)
            break;
    }
    if (ask)
        ask->state = ASK_RUNNING;
    pthread_mutex_unlock(&box->lock);
    return ask;
}

bool ask_run(struct ask_box *box, struct manager *manager) {
    struct ask *ask = NULL;
    int count = 0;

    while (count < ASK_TURN_MAX && (ask = take_waiting(box))) {
        ask->run(ask, manager);
        pthread_mutex_lock(&box->lock);
        ask->state = ASK_ANSWERED;
        pthread_mutex_unlock(&box->lock);
        count++;
    }
    if (count > 0)
        box->answered(box->arg);
    return count == ASK_TURN_MAX;
}
