#include "apiserver/kind.h"

#include "unit.h"

#include "base/str.h"
#include "base/yaml.h"

#include <glob.h>
#include <stdio.h>

#define NOW "2026-01-01T00:00:00Z"

/* JSON with single quotes, for the eyes. */
static json_t *read(const char *text) {
    char *copy = str_dup(text);
    json_t *value;

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    value = json_loads(copy, 0, NULL);
    if (!value)
        fail_msg("%s", copy);
    free(copy);
    return value;
}

static json_t *read_yaml(const char *path) {
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    json_t *root = NULL;
    struct err err = {0};
    size_t size;

    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    assert_int_equal(fclose(file), 0);
    if (yaml_parse(bytes, size, &root, &err) < 0)
        fail_msg("%s: %s", path, err.msg);
    return root;
}

#define SCHEMA(properties)                                                                         \
    "'schema':{'openAPIV3Schema':{'type':'object','properties':{" properties "}}}"
#define CRD_HEAD                                                                                   \
    "{'metadata':{'name':'things.x.io'},'spec':{'group':'x.io','scope':'Namespaced','names':{"     \
    "'plural':'things','kind':'Thing','shortNames':['th'],'categories':['all']},'versions':["
#define VERSION(name, flags, schema) "{'name':'" name "'," flags "," schema "}"
#define LIVE "'served':true,'storage':true"
#define CRD(version) CRD_HEAD version "]}}"
#define THING CRD(VERSION("v1", LIVE, SCHEMA("'spec':{'type':'object'}")))

static void put(struct kinds *kinds, const char *text) {
    json_t *crd = read(text);
    struct err err = {0};

    if (kinds_crd_put(kinds, crd, NOW, &err) < 0)
        fail_msg("%s", err.msg);
    json_decref(crd);
}

static void built_ins_are_found_either_way(void **state) {
    static const char *const rows[][4] = {
        {"", "v1", "pods", "Pod"},
        {"", "v1", "endpoints", "Endpoints"},
        {"apps", "v1", "deployments", "Deployment"},
        {"autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler"},
        {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"},
        {"events.k8s.io", "v1", "events", "Event"},
        {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"},
        {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"},
    };
    struct kinds *kinds = kinds_new();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kind *kind = kinds_find(kinds, rows[i][0], rows[i][1], rows[i][2]);

        assert_non_null(kind);
        assert_ptr_equal(kind, kinds_by_name(kinds, rows[i][0], rows[i][1], rows[i][3]));
        assert_non_null(kind->schema);
        assert_true(kind->prunes);
        assert_null(kind->crd_name);
    }
    assert_null(kinds_find(kinds, "apps", "v1", "pods"));
    assert_null(kinds_find(kinds, "apps", "v1beta1", "deployments"));
    assert_null(kinds_by_name(kinds, "", "v1", "Deployment"));
    assert_null(kinds_at(kinds, -1));
    assert_true(kinds_find(kinds, "apps", "v1", "deployments")->has_scale);
    assert_false(kinds_find(kinds, "", "v1", "nodes")->namespaced);
    kinds_free(kinds);
}

static const struct schema *down(const struct schema *schema, const char *path) {
    char copy[256];
    char *rest = copy;
    char *step;

    snprintf(copy, sizeof(copy), "%s", path);
    while ((step = strsep(&rest, ".")))
        schema = strcmp(step, "*") == 0 ? schema_items(schema) : schema_property(schema, step);
    return schema;
}

static void lists_of_built_ins_merge_by_their_keys(void **state) {
    static const struct {
        const char *group;
        const char *resource;
        const char *path;
        enum schema_list list;
        const char *keys[2];
    } rows[] = {
        {"apps", "deployments", "spec.template.spec.containers", SCHEMA_LIST_MAP, {"name"}},
        {"apps", "deployments", "spec.template.spec.volumes", SCHEMA_LIST_MAP, {"name"}},
        {"apps", "deployments", "spec.template.spec.tolerations", SCHEMA_LIST_ATOMIC, {NULL}},
        {"apps", "deployments", "spec.template.spec.imagePullSecrets", SCHEMA_LIST_MAP, {"name"}},
        {"apps", "deployments", "spec.template.spec.hostAliases", SCHEMA_LIST_MAP, {"ip"}},
        {"apps",
         "deployments",
         "spec.template.spec.topologySpreadConstraints",
         SCHEMA_LIST_MAP,
         {"topologyKey", "whenUnsatisfiable"}},
        {"apps",
         "deployments",
         "spec.template.spec.containers.*.ports",
         SCHEMA_LIST_MAP,
         {"containerPort", "protocol"}},
        {"apps", "statefulsets", "spec.template.spec.containers.*.env", SCHEMA_LIST_MAP, {"name"}},
        {"apps",
         "statefulsets",
         "spec.template.spec.containers.*.volumeMounts",
         SCHEMA_LIST_MAP,
         {"mountPath"}},
        {"apps", "deployments", "status.conditions", SCHEMA_LIST_MAP, {"type"}},
        {"", "services", "spec.ports", SCHEMA_LIST_MAP, {"port", "protocol"}},
        {"", "pods", "metadata.ownerReferences", SCHEMA_LIST_MAP, {"uid"}},
        {"", "pods", "metadata.finalizers", SCHEMA_LIST_SET, {NULL}},
        {"", "nodes", "spec.taints", SCHEMA_LIST_ATOMIC, {NULL}},
        {"", "nodes", "status.addresses", SCHEMA_LIST_MAP, {"type"}},
    };
    struct kinds *kinds = kinds_new();
    const char *keys[SCHEMA_KEYS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kind *kind = kinds_find(kinds, rows[i].group, "v1", rows[i].resource);
        const struct schema *list = down(kind->schema, rows[i].path);

        assert_non_null(list);
        if (schema_list_kind(list, keys) != rows[i].list)
            fail_msg("%s", rows[i].path);
        for (int k = 0; k < 2; k++)
            if ((keys[k] == NULL) != (rows[i].keys[k] == NULL) ||
                (keys[k] && strcmp(keys[k], rows[i].keys[k]) != 0))
                fail_msg("%s: key %d is %s", rows[i].path, k, keys[k] ? keys[k] : "none");
    }
    assert_true(schema_is_atomic_map(
        down(kinds_find(kinds, "apps", "v1", "deployments")->schema, "spec.selector")));
    kinds_free(kinds);
}

/* clang-format off */
static const struct {
    const char *group;
    const char *resource;
    const char *before;
    const char *after;
} defaults[] = {
    {"apps", "deployments",
     "{'spec':{'template':{'spec':{'containers':[{'name':'a','image':'i:1'},{'name':'b','image':"
     "'host:5000/j','resources':{'requests':{'cpu':1},'limits':{'cpu':'2'}}}]}}}}",
     "{'spec':{'replicas':1,'revisionHistoryLimit':10,'progressDeadlineSeconds':600,'strategy':{"
     "'type':'RollingUpdate','rollingUpdate':{'maxSurge':'25%','maxUnavailable':'25%'}},'template':"
     "{'spec':{'restartPolicy':'Always','dnsPolicy':'ClusterFirst','terminationGracePeriodSeconds':"
     "30,'schedulerName':'default-scheduler','securityContext':{},'containers':[{'name':'a',"
     "'image':'i:1','resources':{},'terminationMessagePath':'/dev/termination-log',"
     "'terminationMessagePolicy':'File','imagePullPolicy':'IfNotPresent'},{'name':'b','image':"
     "'host:5000/j','resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2'}},"
     "'terminationMessagePath':'/dev/termination-log',"
     "'terminationMessagePolicy':'File','imagePullPolicy':'Always'}]}}}}"},
    {"apps", "deployments", "{'spec':{'replicas':0,'strategy':{'type':'Recreate'}}}",
     "{'spec':{'replicas':0,'revisionHistoryLimit':10,'progressDeadlineSeconds':600,'strategy':{"
     "'type':'Recreate'}}}"},
    {"apps", "statefulsets", "{'spec':{}}",
     "{'spec':{'replicas':1,'revisionHistoryLimit':10,'podManagementPolicy':'OrderedReady',"
     "'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'partition':0}},"
     "'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Retain','whenScaled':'Retain'}}}"},
    {"apps", "statefulsets", "{'spec':{'updateStrategy':{'type':'OnDelete'}}}",
     "{'spec':{'replicas':1,'revisionHistoryLimit':10,'podManagementPolicy':'OrderedReady',"
     "'updateStrategy':{'type':'OnDelete'},"
     "'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Retain','whenScaled':'Retain'}}}"},
    {"batch", "jobs", "{'spec':{'parallelism':3}}",
     "{'spec':{'parallelism':3,'backoffLimit':6,'completionMode':'NonIndexed','suspend':false,"
     "'manualSelector':false,'podReplacementPolicy':'TerminatingOrFailed'}}"},
    {"rbac.authorization.k8s.io", "rolebindings",
     "{'subjects':[{'kind':'User','name':'u'},{'kind':'ServiceAccount','name':'s'}]}",
     "{'subjects':[{'kind':'User','name':'u','apiGroup':'rbac.authorization.k8s.io'},{'kind':"
     "'ServiceAccount','name':'s'}]}"},
    {"", "nodes", "{'status':{'capacity':{'cpu':4,'memory':'1Gi','x':0.5}}}",
     "{'status':{'capacity':{'cpu':'4','memory':'1Gi','x':'0.5'}}}"},
    {"", "services", "{'spec':{'ports':[{'port':80},{'port':53,'protocol':'UDP','targetPort':"
     "'dns'}]}}",
     "{'spec':{'type':'ClusterIP','sessionAffinity':'None','internalTrafficPolicy':'Cluster',"
     "'ports':[{'port':80,'protocol':'TCP','targetPort':80},{'port':53,'protocol':'UDP',"
     "'targetPort':'dns'}]}}"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "{'spec':{'names':{'kind':'Thing'}}}",
     "{'spec':{'conversion':{'strategy':'None'},'names':{'kind':'Thing','listKind':'ThingList',"
     "'singular':'thing'}}}"},
};
/* clang-format on */

static void built_ins_have_the_defaults_clients_rely_on(void **state) {
    struct kinds *kinds = kinds_new();

    (void)state;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        const struct kind *kind = kinds_find(kinds, defaults[i].group, "v1", defaults[i].resource);
        json_t *object = read(defaults[i].before);
        json_t *want = read(defaults[i].after);

        for (int round = 0; round < 2; round++) {
            schema_default(kind->schema, object);
            if (!json_equal(object, want))
                fail_msg("%s: %s", defaults[i].before, json_dumps(object, JSON_SORT_KEYS));
        }
        json_decref(object);
        json_decref(want);
    }
    kinds_free(kinds);
}

#define WEB                                                                                        \
    "'template':{'metadata':{'labels':{'app':'web'}},'spec':{'containers':[{'name':'a','image':"   \
    "'i'}]}}"

/* clang-format off */
static const struct {
    const char *resource; /* of apps, or of core if it is no workload */
    const char *object;
    const char *faults;
} invalid[] = {
    {"deployments", "{'spec':{'selector':{'matchLabels':{'app':'web'}}," WEB "}}", ""},
    {"deployments", "{}", "spec: Required value\n"},
    {"deployments", "{'spec':{'selector':{'matchLabels':{'app':'api'}}," WEB "}}",
     "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match "
     "template `labels`\n"},
    {"statefulsets", "{'spec':{'selector':{'matchExpressions':[{'key':'app','operator':'NotIn',"
     "'values':['web']}]}," WEB "}}",
     "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match "
     "template `labels`\n"},
    {"deployments", "{'spec':{" WEB "}}",
     "spec.selector: Required value\n"
     "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match "
     "template `labels`\n"},
    {"deployments", "{'spec':{'selector':{}," WEB "}}",
     "spec.selector: Invalid value: {}: empty selector is invalid for deployment\n"},
    {"deployments", "{'spec':{'replicas':-1,'selector':{'matchLabels':{'app':'web'}}," WEB "}}",
     "spec.replicas: Invalid value: -1: must be greater than or equal to 0\n"},
    {"deployments", "{'spec':{'selector':{'matchLabels':{'app':'web'}},'template':{'metadata':{"
     "'labels':{'app':'web'}},'spec':{'containers':[{'name':'a'},{'image':'i'}]}}}}",
     "spec.template.spec.containers[1].name: Required value\n"
     "spec.template.spec.containers[0].image: Required value\n"},
    {"deployments", "{'spec':{'selector':{'matchLabels':{'app':'web'}},'template':{'metadata':{"
     "'labels':{'app':'web'}},'spec':{'containers':[],'restartPolicy':'Never'}}}}",
     "spec.template.spec.containers: Required value\n"
     "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
     "\"Always\"\n"},
    {"pods", "{'spec':{'containers':[{'name':'a','image':'i'},{'name':'a','image':'i'}]}}",
     "spec.containers[1]: Duplicate value: {\"name\":\"a\"}\n"},
    {"services", "{'spec':{'ports':[{'port':0}]}}",
     "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive\n"},
    {"services", "{'spec':{'type':'Foo','ports':[{'port':1}]}}",
     "spec.type: Unsupported value: \"Foo\": supported values: \"ClusterIP\", \"ExternalName\", "
     "\"LoadBalancer\", \"NodePort\"\n"},
    {"services", "{'spec':{}}", "spec.ports: Required value\n"},
    {"services", "{'spec':{'clusterIP':'None'}}", ""},
};
/* clang-format on */

static void built_ins_are_validated(void **state) {
    struct kinds *kinds = kinds_new();

    (void)state;
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        const struct kind *kind = kinds_find(kinds, "apps", "v1", invalid[i].resource);
        json_t *object = read(invalid[i].object);
        struct schema_causes causes = {0};
        char got[2048] = "";
        size_t len = 0;

        kind = kind ? kind : kinds_find(kinds, "", "v1", invalid[i].resource);
        schema_validate(kind->schema, object, &causes);
        for (int c = 0; c < causes.count; c++)
            len += (size_t)snprintf(got + len, sizeof(got) - len, "%s: %s\n", causes.at[c].field,
                                    causes.at[c].message);
        if (strcmp(got, invalid[i].faults) != 0)
            fail_msg("%s:\n%s\n-- not --\n%s", invalid[i].object, got, invalid[i].faults);
        json_decref(object);
    }
    kinds_free(kinds);
}

static void typing_errors_in_closed_types_are_told(void **state) {
    struct kinds *kinds = kinds_new();
    const struct kind *kind = kinds_find(kinds, "apps", "v1", "deployments");
    json_t *object = read("{'spec':{'replicsa':1,'template':{'spec':{'newField':1,'containers':[{"
                          "'name':'a','imagee':'x'}]}}}}");
    struct schema_causes causes = {0};

    (void)state;
    schema_prune(kind->schema, object, &causes);
    assert_int_equal(causes.count, 2);
    assert_string_equal(causes.at[0].message, "unknown field \"spec.replicsa\"");
    assert_string_equal(causes.at[1].field, "spec.template.spec.containers[0].imagee");
    json_decref(object);
    kinds_free(kinds);
}

static void what_may_not_change_is_told(void **state) {
    static const struct {
        const char *group;
        const char *resource;
        const char *old;
        const char *fresh;
        const char *fault;
    } rows[] = {
        {"apps", "deployments", "{'spec':{'selector':{'a':'b'}}}",
         "{'spec':{'selector':{'a':'c'}}}",
         "spec.selector: Invalid value: {\"a\":\"c\"}: field is immutable"},
        {"apps", "deployments", "{'spec':{'replicas':1}}", "{'spec':{'replicas':2}}", NULL},
        {"apps", "statefulsets", "{'spec':{'serviceName':'a'}}", "{'spec':{}}",
         "spec: Forbidden: updates to statefulset spec"},
        {"apps", "statefulsets", "{'spec':{'replicas':1}}", "{'spec':{}}", NULL},
        {"", "configmaps", "{'immutable':true,'data':{}}", "{'immutable':true,'data':{'a':'b'}}",
         "data: Forbidden: field is immutable when `immutable` is set"},
        {"", "configmaps", "{'immutable':true}", "{}",
         "immutable: Forbidden: field is immutable when `immutable` is set"},
        {"", "secrets", "{'type':'a'}", "{'type':'b'}",
         "type: Invalid value: \"b\": field is immutable"},
        {"", "services", "{'spec':{'clusterIP':'10.0.0.1'}}", "{'spec':{'clusterIP':''}}",
         "spec.clusterIPs[0]: Invalid value: [\"\"]: may not change once set"},
    };
    struct kinds *kinds = kinds_new();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kind *kind = kinds_find(kinds, rows[i].group, "v1", rows[i].resource);
        json_t *old = read(rows[i].old);
        json_t *fresh = read(rows[i].fresh);
        struct schema_causes causes = {0};
        char got[1024];

        assert_int_equal(kind_validate_update(kind, fresh, old, &causes), rows[i].fault != NULL);
        snprintf(got, sizeof(got), "%s: %s", causes.at[0].field, causes.at[0].message);
        if (rows[i].fault && strncmp(got, rows[i].fault, strlen(rows[i].fault)) != 0)
            fail_msg("%s", got);
        json_decref(old);
        json_decref(fresh);
    }
    kinds_free(kinds);
}

static void the_projects_crds_and_samples_hold(void **state) {
    struct kinds *kinds = kinds_new();
    glob_t files;

    (void)state;
    assert_int_equal(glob(SOURCE_DIR "/crds/*.yaml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        json_t *crd = read_yaml(files.gl_pathv[i]);
        const struct kind *kind =
            kinds_by_name(kinds, "apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        struct schema_causes causes = {0};
        struct err err = {0};

        schema_default(kind->schema, crd);
        if (schema_validate(kind->schema, crd, &causes) != 0)
            fail_msg("%s: %s: %s", files.gl_pathv[i], causes.at[0].field, causes.at[0].message);
        if (kinds_crd_put(kinds, crd, NOW, &err) < 0)
            fail_msg("%s: %s", files.gl_pathv[i], err.msg);
        json_decref(crd);
    }
    globfree(&files);
    assert_int_equal(glob(SOURCE_DIR "/manifests/samples/*.yaml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        json_t *object = read_yaml(files.gl_pathv[i]);
        json_t *before;
        const struct kind *kind = kinds_by_name(kinds, "bulkhead.dev", "v1alpha1",
                                                json_string_value(json_object_get(object, "kind")));
        struct schema_causes causes = {0};

        assert_non_null(kind);
        schema_default(kind->schema, object);
        before = json_deep_copy(object);
        schema_prune(kind->schema, object, &causes);
        schema_validate(kind->schema, object, &causes);
        if (causes.count)
            fail_msg("%s: %s: %s", files.gl_pathv[i], causes.at[0].field, causes.at[0].message);
        assert_true(json_equal(before, object));
        json_decref(before);
        json_decref(object);
    }
    globfree(&files);
    kinds_free(kinds);
}

static void a_crd_is_served_until_it_is_removed(void **state) {
    struct kinds *kinds = kinds_new();
    const struct kind *kind;
    const struct kind *again;

    (void)state;
    put(kinds, THING);
    kind = kinds_find(kinds, "x.io", "v1", "things");
    assert_non_null(kind);
    assert_string_equal(kind->singular, "thing");
    assert_string_equal(kind->list_name, "ThingList");
    assert_string_equal(kind->short_names[0], "th");
    assert_null(kind->short_names[1]);
    assert_string_equal(kind->crd_name, "things.x.io");
    assert_true(kind->prunes && kind->namespaced && kind->counts_generation);
    assert_false(kind->has_status || kind->has_scale);
    assert_int_equal(kind->column_count, 2);
    assert_non_null(down(kind->schema, "metadata.ownerReferences"));
    put(kinds, CRD(VERSION("v1",
                           LIVE ",'subresources':{'status':{},'scale':{'specReplicasPath':"
                                "'.spec.n','statusReplicasPath':'.status.n','labelSelectorPath':"
                                "'.status.s'}}",
                           SCHEMA("'spec':{'type':'object'}"))));
    again = kinds_find(kinds, "x.io", "v1", "things");
    assert_ptr_equal(kind, again);
    assert_true(kind->has_status && kind->has_scale);
    assert_string_equal(kind->scale_selector_path, ".status.s");
    put(kinds, CRD(VERSION("v2", LIVE, SCHEMA("'spec':{'type':'object'}"))));
    assert_null(kinds_find(kinds, "x.io", "v1", "things"));
    assert_non_null(kinds_find(kinds, "x.io", "v2", "things"));
    assert_string_equal(kind->version, "v1"); /* whoever held it still may read it */
    kinds_crd_remove(kinds, "things.x.io");
    assert_null(kinds_find(kinds, "x.io", "v2", "things"));
    kinds_crd_remove(kinds, "things.x.io");
    kinds_free(kinds);
}

static void a_crd_gets_its_status(void **state) {
    struct kinds *kinds = kinds_new();
    json_t *crd = read(THING);
    json_t *want = read(
        "{'conditions':[{'type':'NamesAccepted','status':'True','lastTransitionTime':'" NOW
        "','reason':'NoConflicts','message':'no conflicts found'},{'type':'Established','status':"
        "'True','lastTransitionTime':'" NOW "','reason':'InitialNamesAccepted','message':'the "
        "initial names have been accepted'}],'acceptedNames':{'plural':'things','kind':'Thing',"
        "'shortNames':['th'],'categories':['all']},'storedVersions':['v1']}");

    (void)state;
    assert_int_equal(kinds_crd_put(kinds, crd, NOW, NULL), 0);
    assert_true(json_equal(json_object_get(crd, "status"), want));
    assert_int_equal(kinds_crd_put(kinds, crd, "2027-01-01T00:00:00Z", NULL), 0);
    assert_true(json_equal(json_object_get(crd, "status"), want));
    json_decref(crd);
    json_decref(want);
    kinds_free(kinds);
}

static void a_taken_name_is_not_accepted(void **state) {
    struct kinds *kinds = kinds_new();
    json_t *crd = read("{'metadata':{'name':'others.x.io'},'spec':{'group':'x.io','scope':"
                       "'Namespaced','names':{'plural':'others','kind':'Thing'},'versions':["
                       "{'name':'v1'," LIVE "," SCHEMA("") "}]}}");
    json_t *condition;

    (void)state;
    put(kinds, THING);
    assert_int_equal(kinds_crd_put(kinds, crd, NOW, NULL), 0);
    assert_null(kinds_find(kinds, "x.io", "v1", "others"));
    condition = json_array_get(json_object_get(json_object_get(crd, "status"), "conditions"), 1);
    assert_string_equal(json_string_value(json_object_get(condition, "status")), "False");
    assert_non_null(kinds_find(kinds, "x.io", "v1", "things"));
    json_decref(crd);
    kinds_free(kinds);
}

static void a_wrong_crd_is_refused_and_the_old_one_stays(void **state) {
    static const struct {
        const char *from; /* of THING, replaced by */
        const char *to;
        const char *words;
    } rows[] = {
        {"'things.x.io'", "'thing.x.io'", "metadata.name: Invalid value: \"thing.x.io\": must be"},
        {"'group':'x.io'", "'group':'io'", "spec.group"},
        {"'group':'x.io'", "'group':'X.io'", "spec.group"},
        {"'Namespaced'", "'Cluster'", "spec.scope: Invalid value: \"Cluster\": field is immutable"},
        {"'Namespaced'", "'World'", "spec.scope: Unsupported value"},
        {"'kind':'Thing'", "'kind':''", "spec.names.kind: Required value"},
        {"'storage':true", "'storage':false", "exactly one version marked as storage"},
        {"'name':'v1'", "'name':'V 1'", "spec.versions[0].name"},
        {"'type':'object','properties'", "'type':'array','properties'",
         "must be object at the root"},
        {"'spec':{'type':'object'}", "'spec':{}", "properties[spec].type: Required value"},
        {"'spec':{'type':'object'}",
         "'l':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],"
         "'items':{'type':'object','properties':{'k':{'type':'string'}}}}",
         "properties[k].default: Required value: this property is in x-kubernetes-list-map-keys"},
        {"'spec':{'type':'object'}",
         "'metadata':{'type':'object','properties':{'labels':{'type':'object'}}}",
         "must not specify anything other than name and generateName"},
        {"'scope'", "'preserveUnknownFields':true,'scope'", "spec.preserveUnknownFields"},
        {"'openAPIV3Schema'", "'other'", "schemas are required"},
        {"'schema'",
         "'additionalPrinterColumns':[{'name':'A','type':'string','jsonPath':'x'}],"
         "'schema'",
         "additionalPrinterColumns[0].jsonPath"},
        {"'schema'",
         "'additionalPrinterColumns':[{'name':'A','type':'text','jsonPath':'.x'}],"
         "'schema'",
         "additionalPrinterColumns[0]"},
        {"'schema'", "'subresources':{'scale':{'specReplicasPath':'.status.n'}},'schema'",
         "specReplicasPath"},
    };
    struct kinds *kinds = kinds_new();
    const struct kind *kind;

    (void)state;
    put(kinds, THING);
    kind = kinds_find(kinds, "x.io", "v1", "things");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *at = strstr(THING, rows[i].from);
        char *text;
        json_t *crd;
        struct err err = {0};

        assert_non_null(at);
        text =
            str_printf("%.*s%s%s", (int)(at - THING), THING, rows[i].to, at + strlen(rows[i].from));
        crd = read(text);
        if (kinds_crd_put(kinds, crd, NOW, &err) != ERR_INVALID)
            fail_msg("%s is taken", text);
        if (!strstr(err.msg, rows[i].words))
            fail_msg("'%s' does not say '%s'", err.msg, rows[i].words);
        assert_null(json_object_get(crd, "status"));
        assert_ptr_equal(kinds_find(kinds, "x.io", "v1", "things"), kind);
        assert_non_null(kind->schema);
        json_decref(crd);
        free(text);
    }
    kinds_free(kinds);
}

static json_t *resource_of(json_t *list, const char *key, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, i), key)), name) == 0)
            return json_array_get(list, i);
    fail_msg("no %s", name);
    return NULL;
}

static void discovery_lists_what_is_served(void **state) {
    struct kinds *kinds = kinds_new();
    json_t *document;
    json_t *want;

    (void)state;
    put(kinds, THING);
    document = kinds_discovery_new(kinds, "/apis/apps/v1", false);
    assert_string_equal(json_string_value(json_object_get(document, "kind")), "APIResourceList");
    want = read("{'name':'deployments','singularName':'deployment','namespaced':true,'kind':"
                "'Deployment','verbs':['create','delete','deletecollection','get','list','patch',"
                "'update','watch'],'shortNames':['deploy'],'categories':['all']}");
    assert_true(json_equal(
        resource_of(json_object_get(document, "resources"), "name", "deployments"), want));
    json_decref(want);
    want = read("{'name':'deployments/scale','singularName':'','namespaced':true,'kind':'Scale',"
                "'group':'autoscaling','version':'v1','verbs':['get','patch','update']}");
    assert_true(json_equal(
        resource_of(json_object_get(document, "resources"), "name", "deployments/scale"), want));
    json_decref(want);
    json_decref(document);
    document = kinds_discovery_new(kinds, "/apis/autoscaling", false);
    want = read("{'kind':'APIGroup','apiVersion':'v1','name':'autoscaling','versions':[{"
                "'groupVersion':'autoscaling/v2','version':'v2'},{'groupVersion':'autoscaling/v1',"
                "'version':'v1'}],'preferredVersion':{'groupVersion':'autoscaling/v2','version':"
                "'v2'}}");
    assert_true(json_equal(document, want));
    json_decref(want);
    json_decref(document);
    document = kinds_discovery_new(kinds, "/apis", false);
    assert_non_null(resource_of(json_object_get(document, "groups"), "name", "x.io"));
    json_decref(document);
    document = kinds_discovery_new(kinds, "/api", false);
    assert_string_equal(json_string_value(json_object_get(document, "kind")), "APIVersions");
    json_decref(document);
    document = kinds_discovery_new(kinds, "/api/v1", false);
    assert_non_null(resource_of(json_object_get(document, "resources"), "name", "pods/status"));
    json_decref(document);
    kinds_crd_remove(kinds, "things.x.io");
    assert_null(kinds_discovery_new(kinds, "/apis/x.io", false));
    assert_null(kinds_discovery_new(kinds, "/apis/x.io/v1", false));
    assert_null(kinds_discovery_new(kinds, "/api/v2", false));
    assert_null(kinds_discovery_new(kinds, "/apis/", false));
    assert_null(kinds_discovery_new(kinds, "/elsewhere", false));
    kinds_free(kinds);
}

static void aggregated_discovery_holds_everything(void **state) {
    struct kinds *kinds = kinds_new();
    json_t *want =
        read("{'resource':'things','responseKind':{'group':'x.io','version':'v1','kind':'Thing'},"
             "'scope':'Namespaced','singularResource':'thing','verbs':['create','delete',"
             "'deletecollection','get','list','patch','update','watch'],'shortNames':['th'],"
             "'categories':['all']}");
    size_t resources = 0;
    int kind_count = 0;

    (void)state;
    put(kinds, THING);
    for (int core = 0; core < 2; core++) {
        json_t *document = kinds_discovery_new(kinds, core ? "/api" : "/apis", true);
        json_t *groups = json_object_get(document, "items");

        assert_string_equal(json_string_value(json_object_get(document, "apiVersion")),
                            "apidiscovery.k8s.io/v2");
        for (size_t g = 0; g < json_array_size(groups); g++) {
            json_t *versions = json_object_get(json_array_get(groups, g), "versions");

            for (size_t v = 0; v < json_array_size(versions); v++) {
                json_t *list = json_object_get(json_array_get(versions, v), "resources");

                resources += json_array_size(list);
                if (g == json_array_size(groups) - 1 && !core)
                    assert_true(json_equal(json_array_get(list, 0), want));
            }
        }
        json_decref(document);
    }
    while (kinds_at(kinds, kind_count))
        kind_count++;
    assert_int_equal(resources, kind_count);
    json_decref(want);
    kinds_free(kinds);
}

static json_t *at(json_t *object, const char *const steps[]) {
    for (int i = 0; steps[i]; i++)
        object = json_object_get(object, steps[i]);
    return object;
}

static void openapi_tells_what_kubectl_looks_for(void **state) {
    static const char *const patch[] = {
        "paths", "/apis/x.io/v1/namespaces/{namespace}/things/{name}", "patch", NULL};
    static const char *const list[] = {"paths", "/apis/x.io/v1/things", "get",
                                       "x-kubernetes-group-version-kind", NULL};
    static const char *const component[] = {"components", "schemas", "io.x.v1.Thing", NULL};
    static const char *const url[] = {"paths", "apis/x.io/v1", "serverRelativeURL", NULL};
    struct kinds *kinds = kinds_new();
    json_t *want = read("{'group':'x.io','version':'v1','kind':'Thing'}");
    json_t *document;

    (void)state;
    put(kinds, THING);
    document = kinds_openapi_new(kinds, "/openapi/v3?timeout=32s");
    assert_string_equal(json_string_value(at(document, url)), "/openapi/v3/apis/x.io/v1");
    json_decref(document);
    document = kinds_openapi_new(kinds, "/openapi/v3/apis/x.io/v1?hash=1");
    assert_true(json_equal(at(document, list), want));
    assert_true(
        json_equal(json_object_get(at(document, patch), "x-kubernetes-group-version-kind"), want));
    resource_of(json_object_get(at(document, patch), "parameters"), "name", "dryRun");
    resource_of(json_object_get(at(document, patch), "parameters"), "name", "fieldValidation");
    assert_true(json_equal(
        json_array_get(json_object_get(at(document, component), "x-kubernetes-group-version-kind"),
                       0),
        want));
    json_decref(document);
    for (int i = 0; kinds_at(kinds, i); i++) {
        const struct kind *kind = kinds_at(kinds, i);
        char *path = str_printf("/openapi/v3/%s%s/%s", *kind->group ? "apis/" : "api", kind->group,
                                kind->version);

        document = kinds_openapi_new(kinds, path);
        assert_non_null(document);
        json_decref(document);
        free(path);
    }
    assert_null(kinds_openapi_new(kinds, "/openapi/v2"));
    assert_null(kinds_openapi_new(kinds, "/openapi/v3/apis/x.io/v2"));
    assert_null(kinds_openapi_new(kinds, "/openapi/v3/apis"));
    json_decref(want);
    kinds_free(kinds);
}

/* CRDs come from outside: how many kinds are served is bounded. */
static void kinds_are_bounded(void **state) {
    struct kinds *kinds = kinds_new();
    struct err err = {0};
    int r = 0;
    int i = 0;

    (void)state;
    for (; i < 2100 && r >= 0; i++) {
        json_t *crd = json_pack(
            "{s:{s:o},s:{s:s,s:s,s:{s:o,s:o},s:[{s:s,s:b,s:b,s:{s:{s:s}}}]}}", "metadata", "name",
            json_sprintf("a%d.x.io", i), "spec", "group", "x.io", "scope", "Cluster", "names",
            "plural", json_sprintf("a%d", i), "kind", json_sprintf("A%d", i), "versions", "name",
            "v1", "served", 1, "storage", 1, "schema", "openAPIV3Schema", "type", "object");

        r = kinds_crd_put(kinds, crd, NOW, &err);
        json_decref(crd);
    }
    assert_int_equal(r, ERR_INVALID);
    assert_non_null(strstr(err.msg, "more than"));
    kinds_free(kinds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_ins_are_found_either_way),
        cmocka_unit_test(lists_of_built_ins_merge_by_their_keys),
        cmocka_unit_test(built_ins_have_the_defaults_clients_rely_on),
        cmocka_unit_test(built_ins_are_validated),
        cmocka_unit_test(typing_errors_in_closed_types_are_told),
        cmocka_unit_test(what_may_not_change_is_told),
        cmocka_unit_test(the_projects_crds_and_samples_hold),
        cmocka_unit_test(a_crd_is_served_until_it_is_removed),
        cmocka_unit_test(a_crd_gets_its_status),
        cmocka_unit_test(a_taken_name_is_not_accepted),
        cmocka_unit_test(a_wrong_crd_is_refused_and_the_old_one_stays),
        cmocka_unit_test(discovery_lists_what_is_served),
        cmocka_unit_test(aggregated_discovery_holds_everything),
        cmocka_unit_test(openapi_tells_what_kubectl_looks_for),
        cmocka_unit_test(kinds_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
