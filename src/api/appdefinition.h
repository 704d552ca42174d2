/* appdefinition.h - an owner's app: what runs, how many, over which zones, and how it may change.
 *
 * Parses, fills in defaults and validates in one step. It never decides a placement, and never
 *          looks anything up: whether a class or a cluster exists is the reconciler's business.
 * Units:    replicas, whole percents, seconds.
 * Ownership: the struct owns everything in it; JSON parts are counted references to the source,
 *          which is not changed. appdefinition_done() releases them.
 * Errors:   ERR_INVALID names the field's path, its value and the remedy.
 */
#ifndef BULKHEAD_API_APPDEFINITION_H
#define BULKHEAD_API_APPDEFINITION_H

#include "api/intorpercent.h"
#include "base/err.h"
#include "core/topology.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define APPDEFINITION_NAME_MAX 40
#define APPDEFINITION_PORTS_MAX 32
#define APPDEFINITION_ROUTES_MAX 16

enum appdefinition_workload { APPDEFINITION_DEPLOYMENT, APPDEFINITION_STATEFULSET };
enum appdefinition_strategy { APPDEFINITION_ZONE_BY_ZONE, APPDEFINITION_ALL_AT_ONCE };
enum appdefinition_deletion { APPDEFINITION_DELETE, APPDEFINITION_ORPHAN };
enum appdefinition_handling { APPDEFINITION_MANUAL, APPDEFINITION_AUTOMATIC };

struct appdefinition_port {
    char *name;
    int32_t port;
    json_t *target; /* a number or a name; NULL: the port itself */
};

struct appdefinition_route {
    char *name;
    char *class_name; /* a TrafficClass */
    char *port;       /* a name in ports; NULL: the only one */
    json_t *ref;      /* the driver's object: {group, kind, namespace, name} */
};

struct appdefinition {
    char *ns; /* NULL when the document names none */
    char *name;
    char *uid; /* NULL before the server gave one */
    int64_t generation;
    bool paused;

    enum appdefinition_workload kind;
    json_t *workload_spec; /* as given: template and the rest */
    struct appdefinition_port *ports;
    int32_t port_count;

    bool autoscaled;
    int32_t min_replicas; /* with autoscaled; policy.replicas starts there */
    int32_t max_replicas;
    json_t *metrics;  /* NULL when absent */
    json_t *behavior; /* NULL when absent */

    struct topology_policy policy;
    char *region;             /* NULL: the only one */
    json_t *cluster_selector; /* NULL: every cluster */
    char **zones;             /* named ones, in the order given; empty: chosen by free capacity */
    int32_t zone_count;
    char **avoid_zones;
    int32_t avoid_zone_count;

    struct appdefinition_route *routes;
    int32_t route_count;

    enum appdefinition_strategy strategy;
    struct intorpercent max_surge;
    struct intorpercent max_unavailable;
    int32_t pause_seconds;

    enum appdefinition_deletion deletion;
    enum appdefinition_handling traffic;
    enum appdefinition_handling compensation;
    bool financial;
    bool striped;
    bool hosted;
};

/* Reads a whole AppDefinition. On success the caller releases *ret_app with appdefinition_done();
 * on failure *ret_app is untouched. root stays the caller's. */
int appdefinition_parse(const json_t *root, struct appdefinition *ret_app, struct err *err);

/* Releases what the struct owns and zeroes it; NULL and all-zero are fine. */
void appdefinition_done(struct appdefinition *app);

#endif
