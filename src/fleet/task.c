#include "fleet/state.h"

#include "base/backoff.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define BACKOFF_FIRST_MS 50
#define BACKOFF_MAX_MS 10000

static void answered(void *arg, const struct kube_reply *reply);
static bool settle(const struct write *write, const struct kube_reply *reply);
static bool settle_delete(const struct write *write, const struct kube_reply *reply);
static bool settle_bind(const struct write *write, const struct kube_reply *reply);

void task_wake(struct fleet *fleet, struct task *task) {
    if (task->queued)
        return;
    task->queued = true;
    DL_APPEND(fleet->tasks, task);
}

void task_at(struct fleet *fleet, struct task *task, int64_t due_ms) {
    if (due_ms != INT64_MAX && (!timer_is_set(&task->timer) || due_ms < task->timer.due_ms))
        timer_set(&fleet->timers, &task->timer, due_ms);
}

void task_forget(struct fleet *fleet, struct task *task) {
    struct write *write;

    timer_cancel(&fleet->timers, &task->timer);
    if (task->queued)
        DL_DELETE(fleet->tasks, task);
    task->queued = false;
    DL_FOREACH(fleet->writes, write) {
        if (write->task == task)
            write->task = NULL;
    }
}

int write_slots(const struct fleet *fleet) {
    return FLEET_WRITES_MAX - fleet->in_flight;
}

/* What cannot even be sent has failed like what was refused. */
void write_send(struct fleet *fleet, const struct write *write, struct kube_call *call,
                json_t *body) {
    struct write *own = str_alloc(1, sizeof *own);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

    *own = *write;
    own->fleet = fleet;
    own->key = str_dup(write->key);
    own->uid = str_dup(write->uid);
    if (text) {
        call->body = text;
        call->body_bytes = strlen(text);
    }
    call->field_manager = call->verb == KUBE_DELETE ? NULL : FLEET_MANAGER;
    DL_APPEND(fleet->writes, own);
    fleet->in_flight++;
    own->task->in_flight++;
    if (kube_client_call(fleet->client, call, answered, own, &own->id, NULL) < 0) {
        const struct kube_reply refused = {.end = HTTP_REFUSED, .reason = "", .message = ""};

        answered(own, &refused);
    }
    free(text);
    json_decref(body);
}

static void answered(void *arg, const struct kube_reply *reply) {
    struct write *write = arg;
    struct fleet *fleet = write->fleet;

    if (write->task)
        write->task->in_flight--;
    fleet->in_flight--;
    const bool fine = settle(write, reply); /* may be the end of the task */

    DL_DELETE(fleet->writes, write);
    struct task *task = write->task;

    if (task && fine) {
        task->failures = 0;
        task_wake(fleet, task);
    } else if (task) {
        task->hold_ms = clock_mono_ms(fleet->options.clock) +
                        backoff_ms(BACKOFF_FIRST_MS, BACKOFF_MAX_MS, task->failures++);
        task_at(fleet, task, task->hold_ms);
    }
    free(write->key);
    free(write->uid);
    free(write);
}

/* Takes in what the answer says. Whether it is as good as done. */
static bool settle(const struct write *write, const struct kube_reply *reply) {
    const bool fine = kube_reply_ok(reply);

    switch (write->type) {
    case WRITE_DELETE:
        return settle_delete(write, reply);
    case WRITE_BIND:
        return settle_bind(write, reply);
    case WRITE_CLAIM:
        return fine || reply->status == 409; /* one that is there is kept */
    case WRITE_PUT:
        break;
    }
    if (fine && write->source != SOURCE_NONE)
        informer_fold(write->fleet->sources[write->source].informer, reply->body,
                      reply->body_bytes);
    return fine;
}

/* An object in the answer is the last state of what is gone, unless something still holds it. */
static bool settle_delete(const struct write *write, const struct kube_reply *reply) {
    struct informer *informer = write->fleet->sources[write->source].informer;
    bool gone = reply->status == 404 || reply->status == 409; /* 409: the uid is another's */

    if (kube_reply_ok(reply)) {
        json_auto_t *body = json_loadb(reply->body, reply->body_bytes, 0, NULL);
        const json_t *metadata = json_object_get(body, "metadata");
        const json_t *grace = json_object_get(metadata, "deletionGracePeriodSeconds");

        gone = !json_object_get(metadata, "name") ||
               (json_is_integer(grace) && json_integer_value(grace) == 0 &&
                json_array_size(json_object_get(metadata, "finalizers")) == 0);
        if (!gone)
            informer_fold(informer, reply->body, reply->body_bytes);
    }
    if (gone)
        informer_fold_gone(informer, write->key, write->uid);
    return gone || kube_reply_ok(reply);
}

/* Where pods/binding is not served, spec.nodeName is patched; where that is refused, it is not. */
static bool settle_bind(const struct write *write, const struct kube_reply *reply) {
    struct fleet *fleet = write->fleet;
    const bool fine = kube_reply_ok(reply);

    if (fine)
        informer_fold(fleet->sources[SOURCE_PODS].informer, reply->body, reply->body_bytes);
    else if (reply->status == 404 || reply->status == 405)
        fleet->no_binding = true;
    else if (reply->status == 422 || reply->status == 403)
        fleet->no_binding = false;
    if (!fine && write->task)
        pods_unbind(fleet, (struct sim_pod *)write->task);
    return fine;
}
