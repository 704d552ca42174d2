/* patchtest.h - what the tests of patches share: a schema of each kind of list and map. */
#ifndef BULKHEAD_TESTS_APISERVER_PATCHTEST_H
#define BULKHEAD_TESTS_APISERVER_PATCHTEST_H

#include "apiserver/schema.h"

#include "unit.h"

/* Reads a document that a test writes with ' instead of ". */
static inline json_t *load(const char *text) {
    char *copy = strdup(text);
    struct json_error_t error;

    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    json_t *value = json_loads(copy, JSON_DECODE_ANY, &error);

    if (!value)
        fail_msg("%s: %s", copy, error.text);
    free(copy);
    return value;
}

/* spec: replicas, image, labels (granular), selector (atomic), args (atomic), tags (set), ports
 * (map by port and protocol, TCP), containers (map by name, with env by name), pools (map of maps),
 * open (undescribed).
 */
static inline struct schema *patchtest_schema(void) {
    static const char *const TEXT =
        "{'type':'object','properties':{"
        "'apiVersion':{'type':'string'},'kind':{'type':'string'},"
        "'metadata':{'type':'object','properties':{"
        "'name':{'type':'string'},'labels':{'type':'object','additionalProperties':"
        "{'type':'string'}},'finalizers':{'type':'array','items':{'type':'string'},"
        "'x-kubernetes-list-type':'set'}}},"
        "'spec':{'type':'object','properties':{"
        "'replicas':{'type':'integer'},'image':{'type':'string'},"
        "'labels':{'type':'object','additionalProperties':{'type':'string'}},"
        "'selector':{'type':'object','additionalProperties':{'type':'string'},"
        "'x-kubernetes-map-type':'atomic'},"
        "'args':{'type':'array','items':{'type':'string'}},"
        "'tags':{'type':'array','items':{'type':'string'},'x-kubernetes-list-type':'set'},"
        "'strategy':{'type':'object','properties':{'type':{'type':'string'},"
        "'rolling':{'type':'object','properties':{'surge':{'type':'integer'}}}}},"
        "'ports':{'type':'array','x-kubernetes-list-type':'map',"
        "'x-kubernetes-list-map-keys':['port','protocol'],'items':{'type':'object','properties':{"
        "'port':{'type':'integer'},'protocol':{'type':'string','default':'TCP'},"
        "'name':{'type':'string'}}}},"
        "'containers':{'type':'array','x-kubernetes-list-type':'map',"
        "'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','properties':{"
        "'name':{'type':'string'},'image':{'type':'string'},'args':{'type':'array','items':"
        "{'type':'string'}},'env':{'type':'array','x-kubernetes-list-type':'map',"
        "'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','properties':{"
        "'name':{'type':'string'},'value':{'type':'string'}}}}}}},"
        "'pools':{'type':'object','additionalProperties':{'type':'object','properties':"
        "{'size':{'type':'integer'}}}},"
        "'open':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}},"
        "'status':{'type':'object','properties':{'ready':{'type':'integer'}}}}}";
    struct schema *schema = NULL;
    struct err err = {0};
    json_t *openapi = load(TEXT);

    if (schema_new(openapi, &schema, &err) < 0)
        fail_msg("%s", err.msg);
    json_decref(openapi);
    return schema;
}

/* Fails the test unless got is what want says. */
static inline void assert_json(const char *name, const json_t *got, const char *want) {
    json_t *expected = load(want);

    if (!json_equal(got, expected))
        fail_msg("%s: %s", name, json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT));
    json_decref(expected);
}

#endif
