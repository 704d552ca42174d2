/* server.h - what the parts of one API server share: its state, and one request on its way.
 *
 * A verb returns 0 once it has answered, or ERR_INVALID with call->refusal filled.
 */
#ifndef BULKHEAD_APISERVER_SERVER_H
#define BULKHEAD_APISERVER_SERVER_H

#include "apiserver/apiserver.h"
#include "apiserver/kind.h"
#include "apiserver/objects.h"
#include "apiserver/refusal.h"
#include "apiserver/route.h"
#include "apiserver/view.h"
#include "apiserver/watch.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SERVER_TIME_SIZE 24 /* "2006-01-02T15:04:05Z" */
#define SERVER_UID_SIZE 37

struct garbage;

struct server_hook {
    char *group;
    char *resource;
    int (*verdict)(void *arg, const json_t *object, const json_t *old, struct err *err);
    void *arg;
};

struct apiserver {
    const struct clock *clock;
    struct random rng;
    char *name;
    char *token; /* NULL: everyone is admitted */
    struct objects *objects;
    struct kinds *kinds;
    struct watches *watches;
    struct garbage *garbage;
    struct object_set *namespaces;
    struct object_set *crds;
    struct server_hook *hooks;
    int hook_count;
    unsigned service_count; /* the next cluster IP and node port */
};

struct call {
    struct apiserver *server;
    const struct http_incoming *in;
    struct http_reply *reply;
    struct route route;
    const struct kind *kind;
    struct object_set *set;
    struct view view;
    struct refusal refusal;
    char *warning; /* NULL: none */
};

/* Now, as metadata has it. */
void server_time(const struct apiserver *server, char ret_time[SERVER_TIME_SIZE]);

/* Wall time plus some seconds, as metadata has it. */
void server_time_in(const struct apiserver *server, int64_t seconds,
                    char ret_time[SERVER_TIME_SIZE]);

/* A fresh random UUID. */
void server_uid(struct apiserver *server, char ret_uid[SERVER_UID_SIZE]);

/* The object that the route names; NULL with a 404 if there is none. Borrowed. */
struct object *call_object(struct call *call);

/* Reads the body, JSON or YAML, as an object. New reference in ret_body; an empty body is NULL. */
int call_body(struct call *call, json_t **ret_body);

/* Who writes: the fieldManager, or what stands before "/" in the User-Agent. Caller frees. */
char *call_manager(const struct call *call);

#endif
