/* kubeconfig_entry.h - one named entry of the merged files; shared by kubeconfig's own sources.
 *
 * Ownership: everything is borrowed from the config.
 */
#ifndef BULKHEAD_KUBE_KUBECONFIG_ENTRY_H
#define BULKHEAD_KUBE_KUBECONFIG_ENTRY_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct kubeconfig;

enum kubeconfig_kind { KUBECONFIG_CLUSTER, KUBECONFIG_USER, KUBECONFIG_CONTEXT, KUBECONFIG_KINDS };

struct kubeconfig_entry {
    enum kubeconfig_kind kind;
    const char *name;
    const char *source; /* the file, for messages */
    const char *folder; /* NULL: not from a file */
    const json_t *body; /* an object; NULL: empty */
};

/* Whether there is such an entry. */
bool kubeconfig_entry_find(const struct kubeconfig *config, enum kubeconfig_kind kind,
                           const char *name, struct kubeconfig_entry *ret_entry);

/* Puts the file, kind and name before the text in *err; returns code. */
int kubeconfig_entry_fault(const struct kubeconfig_entry *entry, int code, struct err *err);

#endif
