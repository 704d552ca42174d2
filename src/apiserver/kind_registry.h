/* kind_registry.h - the inside of a registry of kinds, shared by kind.c and crd.c only. */
#ifndef BULKHEAD_APISERVER_KIND_REGISTRY_H
#define BULKHEAD_APISERVER_KIND_REGISTRY_H

#include "apiserver/kind.h"

#define KINDS_MAX 2000

struct kinds {
    struct kind **at; /* built-ins in the order of their table, then CRDs as they came */
    int count;
    struct kind **retired; /* versions that a CRD no longer serves, until it goes itself */
    int retired_count;
};

/* Releases one kind; NULL is fine. */
void kind_free(struct kind *kind);

/* Adds one and owns it from now on. */
void kinds_add(struct kinds *kinds, struct kind *kind);

/* Takes the at-th out of what is served, and keeps it until its CRD goes. */
void kinds_retire(struct kinds *kinds, int at);

/* Releases every kind, served or retired, of this CRD. */
void kinds_drop(struct kinds *kinds, const char *crd_name);

#endif
