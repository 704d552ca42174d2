#include "apiserver/kind.h"

#include "unit.h"

#include "apiserver/cells.h"

#include <stdio.h>

#define NOW_MS INT64_C(1800000000000) /* 2027-01-15T08:00:00Z */

static void ages_are_those_of_kubectl(void **state) {
    enum { S = 1, M = 60, H = 3600, D = 86400, Y = 365 * D };
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {-2, "<invalid>"},       {-1, "0s"},           {0, "0s"},
        {119, "119s"},           {120, "2m"},          {5 * M + 7, "5m7s"},
        {10 * M - 1, "9m59s"},   {10 * M + 5, "10m"},  {179 * M, "179m"},
        {3 * H, "3h"},           {3 * H + M, "3h1m"},  {8 * H - 1, "7h59m"},
        {8 * H + M, "8h"},       {48 * H - 1, "47h"},  {2 * D, "2d"},
        {2 * D + 3 * H, "2d3h"}, {8 * D - 1, "7d23h"}, {8 * D + H, "8d"},
        {Y * 2 - 1, "729d"},     {Y * 2, "2y"},        {Y * 2 + D, "2y1d"},
        {Y * 8 - 1, "7y364d"},   {Y * 8 + D, "8y"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char age[CELLS_AGE_SIZE];

        cells_age(rows[i].seconds * 1000, age);
        assert_string_equal(age, rows[i].text);
    }
}

/* clang-format off */
static const struct {
    const char *group;
    const char *version;
    const char *resource;
    const char *object;
    const char *cells;
} rows[] = {
    {"", "v1", "pods",
     "{'metadata':{'name':'p','creationTimestamp':'2027-01-15T07:54:00Z'},'spec':{'nodeName':'n1',"
     "'containers':[{'name':'a'},{'name':'b'}],'readinessGates':[{'conditionType':'g'}]},"
     "'status':{'phase':'Running','podIPs':[{'ip':'10.0.0.1'}],'conditions':[{'type':'g','status':"
     "'True'}],'containerStatuses':[{'name':'a','ready':true,'restartCount':2,'state':{'running':{}"
     "},'lastState':{'terminated':{'finishedAt':'2027-01-15T07:59:00Z'}}},{'name':'b','ready':"
     "false,'state':{'waiting':{'reason':'CrashLoopBackOff'}}}]}}",
     "['p','1/2','CrashLoopBackOff','2 (60s ago)','6m','10.0.0.1','n1','<none>','1/1']"},
    {"", "v1", "pods",
     "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a'}]},'status':{'phase':'Pending'}}",
     "['p','0/1','Pending','0','<unknown>','<none>','<none>','<none>','<none>']"},
    {"", "v1", "pods",
     "{'metadata':{'name':'p','deletionTimestamp':'2027-01-15T07:59:00Z'},'spec':{'containers':[{}"
     "]},'status':{'phase':'Running'}}",
     "['p','0/1','Terminating','0','<unknown>','<none>','<none>','<none>','<none>']"},
    {"", "v1", "pods",
     "{'metadata':{'name':'p'},'spec':{'containers':[{}],'initContainers':[{'name':'i'},{'name':"
     "'j'}]},'status':{'phase':'Pending','initContainerStatuses':[{'name':'i','state':{"
     "'terminated':{'exitCode':0}}},{'name':'j','state':{'running':{}}}]}}",
     "['p','0/1','Init:1/2','0','<unknown>','<none>','<none>','<none>','<none>']"},
    {"", "v1", "pods",
     "{'metadata':{'name':'p'},'spec':{'containers':[{}],'initContainers':[{'name':'i'}]},"
     "'status':{'phase':'Running','initContainerStatuses':[{'name':'i','restartCount':4,'state':{"
     "'terminated':{'exitCode':0}}}],'containerStatuses':[{'ready':true,'restartCount':1,'state':{"
     "'running':{}}}]}}",
     "['p','1/1','Running','1','<unknown>','<none>','<none>','<none>','<none>']"},
    {"", "v1", "pods",
     "{'metadata':{'name':'p'},'spec':{'containers':[{}]},'status':{'phase':'Failed',"
     "'containerStatuses':[{'state':{'terminated':{'exitCode':3}}}]}}",
     "['p','0/1','ExitCode:3','0','<unknown>','<none>','<none>','<none>','<none>']"},
    {"", "v1", "nodes",
     "{'metadata':{'name':'n','labels':{'node-role.kubernetes.io/worker':''},'creationTimestamp':"
     "'2027-01-13T05:00:00Z'},'spec':{'unschedulable':true},'status':{'conditions':[{'type':"
     "'Ready','status':'False'}],'addresses':[{'type':'InternalIP','address':'10.1.0.1'}],"
     "'nodeInfo':{'kubeletVersion':'v1.32.0','osImage':'os','kernelVersion':'6.1','architecture':"
     "'arm64'}}}",
     "['n','NotReady,SchedulingDisabled','worker','2d3h','v1.32.0','10.1.0.1','<none>','os',"
     "'6.1 (arm64)','<unknown>']"},
    {"", "v1", "services",
     "{'metadata':{'name':'s'},'spec':{'type':'LoadBalancer','clusterIP':'10.0.0.9','ports':[{"
     "'port':80,'protocol':'TCP','nodePort':30080},{'port':53,'protocol':'UDP'}],'selector':{'b':"
     "'2','a':'1'}}}",
     "['s','LoadBalancer','10.0.0.9','<pending>','80:30080/TCP,53/UDP','<unknown>','a=1,b=2']"},
    {"", "v1", "configmaps", "{'metadata':{'name':'c'},'data':{'a':'1'},'binaryData':{'b':''}}",
     "['c',2,'<unknown>']"},
    {"", "v1", "secrets", "{'metadata':{'name':'c'},'type':'Opaque','data':{'a':'1'}}",
     "['c','Opaque',1,'<unknown>']"},
    {"", "v1", "namespaces", "{'metadata':{'name':'c'},'status':{'phase':'Active'}}",
     "['c','Active','<unknown>']"},
    {"", "v1", "serviceaccounts", "{'metadata':{'name':'c'}}", "['c','<unknown>']"},
    {"", "v1", "events",
     "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','name':'p'},'type':'Normal','reason':"
     "'Started','message':'ok','lastTimestamp':'2027-01-15T07:59:30Z','firstTimestamp':"
     "'2027-01-15T07:58:30Z','count':4,'source':{'component':'kubelet','host':'n1'}}",
     "['30s','Normal','Started','pod/p','','kubelet, n1','ok','90s',4,'e']"},
    {"apps", "v1", "deployments",
     "{'metadata':{'name':'d'},'spec':{'replicas':3,'selector':{'matchLabels':{'app':'web'},"
     "'matchExpressions':[{'key':'z','operator':'In','values':['a','b']},{'key':'old','operator':"
     "'DoesNotExist'}]},'template':{'spec':{'containers':[{'name':'a','image':'i:1'},{'name':'b',"
     "'image':'j'}]}}},'status':{'readyReplicas':2,'updatedReplicas':3}}",
     "['d','2/3',3,0,'<unknown>','a,b','i:1,j','app=web,z in (a,b),!old']"},
    {"apps", "v1", "statefulsets",
     "{'metadata':{'name':'d'},'spec':{'replicas':1,'template':{'spec':{'containers':[{'name':'a',"
     "'image':'i'}]}}}}", "['d','0/1','<unknown>','a','i']"},
    {"apps", "v1", "replicasets",
     "{'metadata':{'name':'d'},'spec':{'replicas':1},'status':{'replicas':2,'readyReplicas':1}}",
     "['d',1,2,1,'<unknown>','','','<none>']"},
    {"policy", "v1", "poddisruptionbudgets",
     "{'metadata':{'name':'b'},'spec':{'maxUnavailable':'20%'},'status':{'disruptionsAllowed':1}}",
     "['b','N/A','20%',1,'<unknown>']"},
    {"autoscaling", "v2", "horizontalpodautoscalers",
     "{'metadata':{'name':'h'},'spec':{'scaleTargetRef':{'kind':'Deployment','name':'web'},"
     "'minReplicas':2,'maxReplicas':9,'metrics':[{'type':'Resource','resource':{'name':'cpu',"
     "'target':{'averageUtilization':80}}}]},'status':{'currentReplicas':3,'currentMetrics':[{"
     "'resource':{'name':'cpu','current':{'averageUtilization':41}}}]}}",
     "['h','Deployment/web','cpu: 41%/80%','2',9,3,'<unknown>']"},
    {"coordination.k8s.io", "v1", "leases",
     "{'metadata':{'name':'l'},'spec':{'holderIdentity':'me'}}", "['l','me','<unknown>']"},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions",
     "{'metadata':{'name':'x.y','creationTimestamp':'2027-01-15T07:54:00Z'}}",
     "['x.y','2027-01-15T07:54:00Z']"},
    {"networking.k8s.io", "v1", "ingresses",
     "{'metadata':{'name':'i'},'spec':{'rules':[{'host':'a.b'},{'host':'c.d'}],'tls':[{}]},"
     "'status':{'loadBalancer':{'ingress':[{'ip':'1.2.3.4'},{'hostname':'x.y'}]}}}",
     "['i','<none>','a.b,c.d','1.2.3.4,x.y','80, 443','<unknown>']"},
    {"networking.k8s.io", "v1", "networkpolicies",
     "{'metadata':{'name':'n'},'spec':{'podSelector':{}}}", "['n','<none>','<unknown>']"},
    {"apps", "v1", "controllerrevisions",
     "{'metadata':{'name':'r','ownerReferences':[{'apiVersion':'apps/v1','kind':'StatefulSet',"
     "'name':'db'}]},'revision':3}", "['r','statefulset.apps/db',3,'<unknown>']"},
    {"batch", "v1", "jobs",
     "{'metadata':{'name':'j'},'spec':{'completions':2},'status':{'succeeded':2,'startTime':"
     "'2027-01-15T07:00:00Z','completionTime':'2027-01-15T07:01:30Z','conditions':[{'type':"
     "'Complete','status':'True'}]}}",
     "['j','Complete','2/2','90s','<unknown>','','','<none>']"},
    {"discovery.k8s.io", "v1", "endpointslices",
     "{'metadata':{'name':'e'},'addressType':'IPv4','ports':[{'port':80}],'endpoints':[{"
     "'addresses':['1.1.1.1']},{'addresses':['1.1.1.2']},{'addresses':['1.1.1.3']},{'addresses':["
     "'1.1.1.4']}]}",
     "['e','IPv4','80','1.1.1.1,1.1.1.2,1.1.1.3 + 1 more...','<unknown>']"},
};
/* clang-format on */

/* JSON with single quotes, for the eyes. */
static json_t *read(const char *text) {
    char copy[2048];
    json_t *value;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    value = json_loads(copy, 0, NULL);
    if (!value)
        fail_msg("%s", copy);
    return value;
}

static void built_in_cells_are_as_kubectl_shows_them(void **state) {
    struct kinds *kinds = kinds_new();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct kind *kind =
            kinds_find(kinds, rows[i].group, rows[i].version, rows[i].resource);
        json_t *objects = json_pack("[o]", read(rows[i].object));
        json_t *want = read(rows[i].cells);
        json_t *table = kind_table_new(kind, objects, "7", NULL, NULL, NOW_MS);
        json_t *row = json_array_get(json_object_get(table, "rows"), 0);

        if (!json_equal(json_object_get(row, "cells"), want))
            fail_msg("%s: %s", rows[i].object, json_dumps(json_object_get(row, "cells"), 0));
        assert_int_equal(json_array_size(want), kind->column_count);
        json_decref(table);
        json_decref(objects);
        json_decref(want);
    }
    kinds_free(kinds);
}

/* Whatever is asked for, each kind writes as many cells as it has columns. */
static void every_kind_fills_its_columns(void **state) {
    struct kinds *kinds = kinds_new();
    const struct kind *kind;

    (void)state;
    for (int i = 0; (kind = kinds_at(kinds, i)); i++) {
        json_t *objects = json_pack("[{}]");
        json_t *table = kind_table_new(kind, objects, NULL, NULL, "None", NOW_MS);
        json_t *row = json_array_get(json_object_get(table, "rows"), 0);

        if ((int)json_array_size(json_object_get(row, "cells")) != kind->column_count)
            fail_msg("%s", kind->resource);
        assert_null(json_object_get(row, "object"));
        json_decref(table);
        json_decref(objects);
    }
    kinds_free(kinds);
}

static void a_table_says_what_it_is(void **state) {
    struct kinds *kinds = kinds_new();
    const struct kind *kind = kinds_find(kinds, "", "v1", "configmaps");
    json_t *objects = json_pack("[o]", read("{'kind':'ConfigMap','metadata':{'name':'c'},"
                                            "'data':{'a':'b'}}"));
    json_t *table = kind_table_new(kind, objects, "7", "more", NULL, NOW_MS);
    json_t *want = read("{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1','metadata':"
                        "{'name':'c'}}");
    json_t *meta = read("{'resourceVersion':'7','continue':'more'}");
    json_t *column = read("{'name':'Name','type':'string','format':'name','description':'',"
                          "'priority':0}");
    json_t *row = json_array_get(json_object_get(table, "rows"), 0);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(table, "kind")), "Table");
    assert_true(json_equal(json_object_get(table, "metadata"), meta));
    assert_true(json_equal(json_object_get(row, "object"), want));
    assert_true(json_equal(json_array_get(json_object_get(table, "columnDefinitions"), 0), column));
    json_decref(table);
    table = kind_table_new(kind, objects, NULL, NULL, "Object", NOW_MS);
    row = json_array_get(json_object_get(table, "rows"), 0);
    assert_true(json_equal(json_object_get(row, "object"), json_array_get(objects, 0)));
    json_decref(table);
    json_decref(objects);
    json_decref(want);
    json_decref(meta);
    json_decref(column);
    kinds_free(kinds);
}

static void columns_of_a_crd_come_from_its_paths(void **state) {
    struct kinds *kinds = kinds_new();
    json_t *crd = read(
        "{'metadata':{'name':'things.x.io'},'spec':{'group':'x.io','scope':'Cluster','names':{"
        "'plural':'things','kind':'Thing'},'versions':[{'name':'v1','served':true,'storage':true,"
        "'schema':{'openAPIV3Schema':{'type':'object','x-kubernetes-preserve-unknown-fields':true"
        "}},'additionalPrinterColumns':["
        "{'name':'N','type':'integer','jsonPath':'.n'},"
        "{'name':'Ready','type':'string','jsonPath':'.c[?(@.t==\\u0022R\\u0022)].s'},"
        "{'name':'On','type':'boolean','jsonPath':'.on','priority':1},"
        "{'name':'F','type':'number','jsonPath':'.f'},"
        "{'name':'Any','type':'string','jsonPath':'.any'},"
        "{'name':'Age','type':'date','jsonPath':'.metadata.creationTimestamp'}]}]}}");
    static const struct {
        const char *object;
        const char *cells;
    } things[] = {
        {"{'metadata':{'name':'a','creationTimestamp':'2027-01-15T07:00:00Z'},'n':3,'c':[{'t':'R',"
         "'s':'True'}],'on':true,'f':1.5,'any':{'k':1}}",
         "['a',3,'True',true,1.5,'{\\u0022k\\u0022:1}','60m']"},
        {"{'metadata':{'name':'a'}}", "['a',null,null,null,null,null,null]"},
        {"{'metadata':{'name':'a','creationTimestamp':'soon'},'n':'x','on':1,'f':2,'any':7}",
         "['a',null,null,null,2,'7','<invalid>']"},
        {"{'metadata':{'name':'a'},'n':2.7}", "['a',2,null,null,null,null,null]"},
    };
    const struct kind *kind;
    struct err err = {0};

    (void)state;
    if (kinds_crd_put(kinds, crd, "2027-01-15T08:00:00Z", &err) < 0)
        fail_msg("%s", err.msg);
    kind = kinds_find(kinds, "x.io", "v1", "things");
    assert_non_null(kind);
    assert_int_equal(kind->columns[3].priority, 1);
    for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
        json_t *objects = json_pack("[o]", read(things[i].object));
        json_t *want = read(things[i].cells);
        json_t *table = kind_table_new(kind, objects, NULL, NULL, "None", NOW_MS);
        json_t *cells = json_object_get(json_array_get(json_object_get(table, "rows"), 0), "cells");

        if (!json_equal(cells, want))
            fail_msg("%s: %s", things[i].object, json_dumps(cells, 0));
        json_decref(table);
        json_decref(objects);
        json_decref(want);
    }
    json_decref(crd);
    kinds_free(kinds);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages_are_those_of_kubectl),
        cmocka_unit_test(built_in_cells_are_as_kubectl_shows_them),
        cmocka_unit_test(every_kind_fills_its_columns),
        cmocka_unit_test(a_table_says_what_it_is),
        cmocka_unit_test(columns_of_a_crd_come_from_its_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
