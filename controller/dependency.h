/* dependency.h - the ConfigMaps, Secrets and ServiceAccounts that a pod template names.
 *
 * They live beside the app in the hub and are copied into every child that runs it. Pure: says
 * which, and what a copy looks like. Limits:    DEPENDENCY_COUNT_MAX of an app; more are
 * ERR_INVALID. Ownership: names are borrowed from the template.
 */
#ifndef BULKHEAD_CONTROLLER_DEPENDENCY_H
#define BULKHEAD_CONTROLLER_DEPENDENCY_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define DEPENDENCY_COUNT_MAX 64

/* A ServiceAccount in a child that is not ours is used only with this label (safety rule 11). */
#define DEPENDENCY_LABEL_ALLOW "bulkhead.dev/allow-apps"

enum dependency_kind { DEPENDENCY_CONFIGMAP, DEPENDENCY_SECRET, DEPENDENCY_SERVICEACCOUNT };

struct dependency {
    enum dependency_kind kind;
    const char *name;
    bool optional; /* the pod starts without it */
};

struct dependencies {
    struct dependency at[DEPENDENCY_COUNT_MAX];
    int count;
};

/* Lists what the pod spec (template.spec) names, each once, in the order of its first mention. */
int dependency_list(const json_t *pod_spec, struct dependencies *ret, struct err *err);

/* "configmaps", "secrets", "serviceaccounts". */
const char *dependency_resource(enum dependency_kind kind);

/* The copy of source (an object of the hub) for a child: its content, our label and its hash. */
json_t *dependency_copy_new(enum dependency_kind kind, const json_t *source);

#endif
