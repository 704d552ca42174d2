/* objectname.h - the names and labels under which an app's objects live in a child cluster.
 *
 * App names hold no "--", so "<app>--<zone>" splits in one way only. What would not be a DNS label,
 * or would pass 52 characters, is cut and ends in "-x" and 8 hex digits of SHA-256 of
 * "<namespace>/<app>/<zone>".
 */
#ifndef BULKHEAD_API_OBJECTNAME_H
#define BULKHEAD_API_OBJECTNAME_H

#include <stdbool.h>

#define OBJECTNAME_MAX 52
#define OBJECTNAME_SIZE (OBJECTNAME_MAX + 1)

#define OBJECTNAME_MANAGER "bulkhead"
#define OBJECTNAME_SCALE_MANAGER "bulkhead-scale"
#define OBJECTNAME_LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define OBJECTNAME_LABEL_APP_UID "bulkhead.dev/app-uid"
#define OBJECTNAME_LABEL_APP "bulkhead.dev/app"
#define OBJECTNAME_LABEL_ZONE "bulkhead.dev/zone"
#define OBJECTNAME_ANNOTATION_HASH "bulkhead.dev/template-hash"
#define OBJECTNAME_ANNOTATION_REBALANCE "bulkhead.dev/rebalance"
#define OBJECTNAME_ANNOTATION_REBALANCED "bulkhead.dev/rebalanced"
#define OBJECTNAME_FINALIZER "bulkhead.dev/children"

/* The name of the app's workload and Service in a zone. */
void objectname_of(const char *ns, const char *app, const char *zone,
                   char ret_name[OBJECTNAME_SIZE]);

/* Whether text may be the value of a label. */
bool objectname_is_label_value(const char *text);

/* The value of bulkhead.dev/zone for a zone: itself, or cut like a name when it is no label value.
 */
void objectname_zone_label(const char *zone, char ret_value[64]);

#endif
