/* view.h - an object as one client asks for it: its version, as it is, as a table or metadata only.
 *
 * Objects are stored in one version. Other versions of a CRD differ in apiVersion alone
 * (conversion None); events have two forms, which are translated.
 */
#ifndef BULKHEAD_APISERVER_VIEW_H
#define BULKHEAD_APISERVER_VIEW_H

#include "apiserver/kind.h"
#include "apiserver/objects.h"
#include "base/str.h"

#include <jansson.h>
#include <stdint.h>

enum view_form { VIEW_PLAIN, VIEW_TABLE, VIEW_METADATA };

struct view {
    const struct kind *kind;
    enum view_form form;
    const char *include_object; /* of a table */
    int64_t wall_ms;            /* for ages in tables */
};

/* The form that an Accept header asks for. ERR_INVALID if we have none of what it lists. */
int view_form_of(const char *accept, enum view_form *ret_form);

/* The group and resource under which objects of this kind are stored. */
void view_storage(const struct kind *kind, const char **ret_group, const char **ret_resource);

/* "apps/v1" or "v1". Caller frees. */
char *view_api_version(const struct kind *kind);

/* A stored object in the kind's version; a new reference, not to be changed. */
json_t *view_object_new(const struct kind *kind, const json_t *stored);

/* An object of the kind's version as it is stored; takes object over, a new reference. */
json_t *view_stored_new(const struct kind *kind, json_t *object);

/* Appends the JSON of an object in this view. ERR_INVALID beyond the text's limit. */
int view_add(const struct view *view, const struct object *object, struct str *text,
             struct err *err);

/* Appends the JSON of a tree that is in the kind's version already. */
int view_add_tree(const struct view *view, json_t *tree, struct str *text, struct err *err);

#endif
