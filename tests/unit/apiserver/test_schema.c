#include "apiserver/schema.h"

#include "unit.h"

#include "base/str.h"

#include <stdio.h>

static json_t *read(const char *text) {
    json_error_t fault;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &fault);

    if (!value)
        fail_msg("%s: %s", text, fault.text);
    return value;
}

static struct schema *compiled(const char *text) {
    struct schema *schema = NULL;
    struct err err = {0};
    json_t *openapi = read(text);

    if (schema_new(openapi, &schema, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    json_decref(openapi);
    return schema;
}

/* Every cause as "FIELD: MESSAGE", separated by new lines. */
static void told(const struct schema_causes *causes, char *room, size_t size) {
    size_t len = 0;

    room[0] = '\0';
    for (int i = 0; i < causes->count && i < SCHEMA_CAUSES_MAX; i++)
        len += (size_t)snprintf(room + len, size - len, "%s%s: %s", i ? "\n" : "",
                                causes->at[i].field, causes->at[i].message);
}

#define SPEC(properties)                                                                           \
    "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":"           \
    "{" properties "}}}}"

/* clang-format off */
static const struct {
    const char *properties; /* of spec */
    const char *spec;
    const char *faults;     /* "" is valid */
} rows[] = {
    {"\"n\":{\"type\":\"integer\"}", "{\"n\":1}", ""},
    {"\"n\":{\"type\":\"integer\"}", "{\"n\":1.0}", ""},
    {"\"n\":{\"type\":\"integer\"}", "{\"n\":1.5}",
     "spec.n: Invalid value: \"number\": spec.n in body must be of type integer: \"number\"\n"
     "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in "
     "spec.n"},
    {"\"n\":{\"type\":\"integer\"}", "{\"n\":\"1\"}",
     "spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\""},
    {"\"n\":{\"type\":\"number\"}", "{\"n\":1}", ""},
    {"\"n\":{\"type\":\"string\"}", "{\"n\":null}",
     "spec.n: Invalid value: \"null\": spec.n in body must be of type string: \"null\""},
    {"\"n\":{\"type\":\"string\",\"nullable\":true,\"enum\":[\"a\"]}", "{\"n\":null}",
     "spec.n: Unsupported value: null: supported values: \"a\""},
    {"\"n\":{\"type\":\"string\",\"nullable\":true}", "{\"n\":null}", ""},
    {"\"n\":{\"type\":\"boolean\"}", "{\"n\":[]}",
     "spec.n: Invalid value: \"array\": spec.n in body must be of type boolean: \"array\""},
    {"\"n\":{\"x-kubernetes-int-or-string\":true}", "{\"n\":\"25%\"}", ""},
    {"\"n\":{\"x-kubernetes-int-or-string\":true}", "{\"n\":true}",
     "spec.n: Invalid value: \"boolean\": spec.n in body must be of type integer,string: "
     "\"boolean\""},
    {"\"n\":{\"type\":\"integer\",\"minimum\":0}", "{\"n\":-1}",
     "spec.n: Invalid value: -1: spec.n in body should be greater than or equal to 0"},
    {"\"n\":{\"type\":\"integer\",\"minimum\":0,\"exclusiveMinimum\":true}", "{\"n\":0}",
     "spec.n: Invalid value: 0: spec.n in body should be greater than 0"},
    {"\"n\":{\"type\":\"integer\",\"maximum\":1000000}", "{\"n\":1000001}",
     "spec.n: Invalid value: 1000001: spec.n in body should be less than or equal to 1000000"},
    {"\"n\":{\"type\":\"integer\",\"maximum\":5,\"exclusiveMaximum\":true}", "{\"n\":5}",
     "spec.n: Invalid value: 5: spec.n in body should be less than 5"},
    {"\"n\":{\"type\":\"integer\",\"maximum\":9007199254740993}", "{\"n\":9007199254740994}",
     "spec.n: Invalid value: 9007199254740994: spec.n in body should be less than or equal to "
     "9007199254740993"},
    {"\"n\":{\"type\":\"integer\",\"multipleOf\":5}", "{\"n\":12}",
     "spec.n: Invalid value: 12: spec.n in body should be a multiple of 5"},
    {"\"n\":{\"type\":\"number\",\"multipleOf\":0.1}", "{\"n\":0.3}", ""},
    {"\"n\":{\"type\":\"integer\",\"format\":\"int32\"}", "{\"n\":2147483648}",
     "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in "
     "spec.n"},
    {"\"s\":{\"type\":\"string\",\"maxLength\":3}", "{\"s\":\"abcd\"}",
     "spec.s: Too long: may not be more than 3 bytes"},
    {"\"s\":{\"type\":\"string\",\"maxLength\":3}", "{\"s\":\"\xc3\xa4\xc3\xb6\xc3\xbc\"}", ""},
    {"\"s\":{\"type\":\"string\",\"minLength\":2}", "{\"s\":\"a\"}",
     "spec.s: Invalid value: \"a\": spec.s in body should be at least 2 chars long"},
    {"\"s\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}", "{\"s\":\"aB\"}",
     "spec.s: Invalid value: \"aB\": spec.s in body should match '^[a-z]+$'"},
    {"\"s\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}", "{\"s\":\"a\\n\"}",
     "spec.s: Invalid value: \"a\\n\": spec.s in body should match '^[a-z]+$'"},
    {"\"s\":{\"type\":\"string\",\"pattern\":\"^\\\\d{3}$\"}", "{\"s\":\"123\"}", ""},
    {"\"s\":{\"type\":\"string\",\"enum\":[\"A\",\"B\"]}", "{\"s\":\"C\"}",
     "spec.s: Unsupported value: \"C\": supported values: \"A\", \"B\""},
    {"\"s\":{\"type\":\"integer\",\"enum\":[1,2]}", "{\"s\":3}",
     "spec.s: Unsupported value: 3: supported values: \"1\", \"2\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"date-time\"}", "{\"t\":\"2026-02-29T00:00:00Z\"}",
     "spec.t: Invalid value: \"2026-02-29T00:00:00Z\": spec.t in body must be of type date-time: "
     "\"2026-02-29T00:00:00Z\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"date-time\"}",
     "{\"t\":\"2024-02-29T23:59:59.123456+01:00\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"date\"}", "{\"t\":\"2000-02-29\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"date\"}", "{\"t\":\"1900-02-29\"}",
     "spec.t: Invalid value: \"1900-02-29\": spec.t in body must be of type date: "
     "\"1900-02-29\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"byte\"}", "{\"t\":\"Y===\"}",
     "spec.t: Invalid value: \"Y===\": spec.t in body must be of type byte: \"Y===\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"uuid\"}",
     "{\"t\":\"123e4567-e89b-12d3-a456-426614174000\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"uuid\"}",
     "{\"t\":\"123e4567-e89b-12d3-a456-42661417400\"}",
     "spec.t: Invalid value: \"123e4567-e89b-12d3-a456-42661417400\": spec.t in body must be of "
     "type uuid: \"123e4567-e89b-12d3-a456-42661417400\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"ipv4\"}", "{\"t\":\"10.0.0.256\"}",
     "spec.t: Invalid value: \"10.0.0.256\": spec.t in body must be of type ipv4: "
     "\"10.0.0.256\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"ipv6\"}", "{\"t\":\"fe80::1\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"byte\"}", "{\"t\":\"YQ==\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"byte\"}", "{\"t\":\"YQ=\"}",
     "spec.t: Invalid value: \"YQ=\": spec.t in body must be of type byte: \"YQ=\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"duration\"}", "{\"t\":\"1h2.5s\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"duration\"}", "{\"t\":\"1 week 2 days\"}", ""},
    {"\"t\":{\"type\":\"string\",\"format\":\"duration\"}", "{\"t\":\"1 moon\"}",
     "spec.t: Invalid value: \"1 moon\": spec.t in body must be of type duration: \"1 moon\""},
    {"\"t\":{\"type\":\"string\",\"format\":\"unheard-of\"}", "{\"t\":\"any\"}", ""},
    {"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":1}",
     "{\"l\":[\"a\",\"b\"]}", "spec.l: Too many: 2: must have at most 1 item"},
    {"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1}", "{\"l\":[]}",
     "spec.l: Invalid value: 0: spec.l in body should have at least 1 items"},
    {"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "{\"l\":[\"a\",7]}",
     "spec.l[1]: Invalid value: \"integer\": spec.l[1] in body must be of type string: "
     "\"integer\""},
    {"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
     "\"x-kubernetes-list-type\":\"set\"}", "{\"l\":[\"a\",\"b\",\"a\",\"a\"]}",
     "spec.l[2]: Duplicate value: \"a\""},
    {"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
     "\"string\"},\"v\":{\"type\":\"string\"}},\"required\":[\"k\"]},"
     "\"x-kubernetes-list-type\":\"map\","
     "\"x-kubernetes-list-map-keys\":[\"k\"]}",
     "{\"l\":[{\"k\":\"a\",\"v\":\"1\"},{\"k\":\"b\"},{\"k\":\"a\",\"v\":\"2\"}]}",
     "spec.l[2]: Duplicate value: {\"k\":\"a\"}"},
    {"\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"},"
     "\"maxProperties\":2}", "{\"m\":{\"a\":1,\"b\":2,\"c\":\"x\"}}",
     "spec.m: Too many: 3: must have at most 2 items\n"
     "spec.m.c: Invalid value: \"string\": spec.m.c in body must be of type integer: \"string\""},
    {"\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"},"
     "\"minProperties\":1}", "{\"m\":{}}",
     "spec.m: Invalid value: 0: spec.m in body should have at least 1 properties"},
    {"\"o\":{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"properties\":{\"a\":{\"type\":"
     "\"string\"}}}", "{\"o\":{}}",
     "spec.o.a: Required value\nspec.o.b: Required value"},
    {"\"e\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
     "\"x-kubernetes-preserve-unknown-fields\":true}", "{\"e\":{\"kind\":\"\"}}",
     "spec.e.apiVersion: Required value\nspec.e.kind: Invalid value: \"\": must not be empty"},
    {"\"x\":{\"type\":\"string\",\"anyOf\":[{\"minLength\":3},{\"pattern\":\"^a\"}]}",
     "{\"x\":\"b\"}",
     "<nil>: Invalid value: \"\": \"spec.x\" must validate at least one schema (anyOf)\n"
     "spec.x: Invalid value: \"b\": spec.x in body should be at least 3 chars long"},
    {"\"x\":{\"type\":\"string\",\"anyOf\":[{\"minLength\":3},{\"pattern\":\"^a\"}]}",
     "{\"x\":\"a\"}", ""},
    {"\"x\":{\"type\":\"string\",\"oneOf\":[{\"minLength\":3},{\"pattern\":\"^a\"}]}",
     "{\"x\":\"abc\"}",
     "<nil>: Invalid value: \"\": \"spec.x\" must validate one and only one schema (oneOf). Found "
     "2 valid alternatives"},
    {"\"x\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
     "\"string\"}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}", "{\"x\":{}}",
     "<nil>: Invalid value: \"\": \"spec.x\" must validate one and only one schema (oneOf). Found "
     "none valid\nspec.x.a: Required value"},
    {"\"x\":{\"type\":\"string\",\"allOf\":[{\"minLength\":3},{\"pattern\":\"^a\"}]}",
     "{\"x\":\"ab\"}",
     "spec.x: Invalid value: \"ab\": spec.x in body should be at least 3 chars long\n"
     "<nil>: Invalid value: \"\": \"spec.x\" must validate all the schemas (allOf)"},
    {"\"x\":{\"type\":\"string\",\"not\":{\"enum\":[\"a\"]}}", "{\"x\":\"a\"}",
     "<nil>: Invalid value: \"\": \"spec.x\" must not validate the schema (not)"},
};
/* clang-format on */

static void faults_are_worded_as_the_real_server_words_them(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = str_printf(SPEC("%s"), rows[i].properties);
        struct schema *schema = compiled(text);
        json_t *object = json_pack("{s:o}", "spec", read(rows[i].spec));
        struct schema_causes causes = {0};
        char got[4096];
        const int count = schema_validate(schema, object, &causes);

        assert_int_equal(count, causes.count);
        told(&causes, got, sizeof(got));
        if (strcmp(got, rows[i].faults) != 0)
            fail_msg("%s of %s:\n%s\n-- not --\n%s", rows[i].spec, rows[i].properties, got,
                     rows[i].faults);
        assert_int_equal(schema_validate(schema, object, NULL) > 0, rows[i].faults[0] != '\0');
        json_decref(object);
        schema_free(schema);
        free(text);
    }
}

static void reasons_are_those_of_status_causes(void **state) {
    static const struct {
        const char *spec;
        const char *reason;
    } reasons[] = {
        {"{\"n\":\"x\"}", "FieldValueTypeInvalid"},   {"{\"n\":-1}", "FieldValueInvalid"},
        {"{\"s\":\"zz\"}", "FieldValueNotSupported"}, {"{\"t\":\"abc\"}", "FieldValueTooLong"},
        {"{\"l\":[1,1]}", "FieldValueDuplicate"},     {"{\"l\":[1,2,3]}", "FieldValueTooMany"},
        {"{\"o\":{}}", "FieldValueRequired"},
    };
    struct schema *schema = compiled(
        SPEC("\"n\":{\"type\":\"integer\",\"minimum\":0},"
             "\"s\":{\"type\":\"string\",\"enum\":[\"a\"]},"
             "\"t\":{\"type\":\"string\",\"maxLength\":2},"
             "\"l\":{\"type\":\"array\",\"maxItems\":2,\"items\":{\"type\":\"integer\"},"
             "\"x-kubernetes-list-type\":\"set\"},"
             "\"o\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
             "\"string\"}}}"));

    (void)state;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        json_t *object = json_pack("{s:o}", "spec", read(reasons[i].spec));
        struct schema_causes causes = {0};

        assert_int_equal(schema_validate(schema, object, &causes), 1);
        assert_string_equal(causes.at[0].reason, reasons[i].reason);
        json_decref(object);
    }
    schema_free(schema);
}

static void only_the_first_causes_are_kept_and_all_counted(void **state) {
    struct schema *schema =
        compiled(SPEC("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"));
    json_t *list = json_array();
    json_t *object = json_pack("{s:{s:o}}", "spec", "l", list);
    struct schema_causes causes = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        json_array_append_new(list, json_integer(i));
    assert_int_equal(schema_validate(schema, object, &causes), 100);
    assert_int_equal(causes.count, 100);
    assert_int_equal(schema_validate(schema, object, &causes), 100); /* what was there stays */
    assert_int_equal(causes.count, 200);
    assert_string_equal(causes.at[SCHEMA_CAUSES_MAX - 1].field, "spec.l[15]");
    json_decref(object);
    schema_free(schema);
}

/* clang-format off */
static const struct {
    const char *properties;
    const char *before;
    const char *after;
} defaults[] = {
    {"\"a\":{\"type\":\"integer\",\"default\":3}", "{}", "{\"a\":3}"},
    {"\"a\":{\"type\":\"integer\",\"default\":3}", "{\"a\":0}", "{\"a\":0}"},
    {"\"a\":{\"type\":\"integer\",\"default\":3}", "{\"a\":null}", "{\"a\":3}"},
    {"\"a\":{\"type\":\"integer\",\"default\":3,\"nullable\":true}", "{\"a\":null}",
     "{\"a\":null}"},
    {"\"a\":{\"type\":\"integer\"}", "{\"a\":null}", "{}"},
    {"\"o\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\",\"default\":\"x\"}}}",
     "{}", "{}"},
    {"\"o\":{\"type\":\"object\",\"default\":{},\"properties\":{\"b\":{\"type\":\"string\","
     "\"default\":\"x\"}}}", "{}", "{\"o\":{\"b\":\"x\"}}"},
    {"\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":"
     "\"string\",\"default\":\"x\"}}}}", "{\"l\":[{},{\"b\":\"y\"}]}",
     "{\"l\":[{\"b\":\"x\"},{\"b\":\"y\"}]}"},
    {"\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":"
     "{\"b\":{\"type\":\"string\",\"default\":\"x\"}}}}", "{\"m\":{\"k\":{},\"n\":null}}",
     "{\"m\":{\"k\":{\"b\":\"x\"}}}"},
};
/* clang-format on */

static void defaults_fill_what_is_absent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        char *text = str_printf(SPEC("%s"), defaults[i].properties);
        struct schema *schema = compiled(text);
        json_t *object = json_pack("{s:o}", "spec", read(defaults[i].before));
        json_t *want = json_pack("{s:o}", "spec", read(defaults[i].after));

        for (int round = 0; round < 2; round++) {
            schema_default(schema, object);
            if (!json_equal(object, want))
                fail_msg("%s with %s, round %d", defaults[i].before, defaults[i].properties, round);
        }
        json_decref(object);
        json_decref(want);
        schema_free(schema);
        free(text);
    }
}

static void what_is_not_described_is_pruned_and_told(void **state) {
    struct schema *schema = compiled(
        SPEC("\"a\":{\"type\":\"string\"},"
             "\"free\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
             "\"properties\":{\"in\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
             "\"string\"}}}}},"
             "\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\","
             "\"properties\":{\"k\":{\"type\":\"string\"}}}},"
             "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"k\":"
             "{\"type\":\"string\"}}}},"
             "\"kept\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
             "\"properties\":{\"spec\":{\"type\":\"object\"}}}"));
    json_t *object =
        read("{\"apiVersion\":\"v\",\"kind\":\"K\",\"metadata\":{\"x\":1},\"stray\":1,\"spec\":{"
             "\"a\":\"1\",\"typo\":2,\"free\":{\"any\":{\"deep\":1},\"in\":{\"k\":\"v\",\"no\":1}},"
             "\"map\":{\"one\":{\"k\":\"v\",\"no\":1}},\"list\":[{\"k\":\"v\"},{\"no\":1}],"
             "\"kept\":{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"},"
             "\"no\":1}}}");
    json_t *want =
        read("{\"apiVersion\":\"v\",\"kind\":\"K\",\"metadata\":{\"x\":1},\"spec\":{"
             "\"a\":\"1\",\"free\":{\"any\":{\"deep\":1},\"in\":{\"k\":\"v\"}},"
             "\"map\":{\"one\":{\"k\":\"v\"}},\"list\":[{\"k\":\"v\"},{}],"
             "\"kept\":{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}}}}");
    static const char *const paths[] = {"stray",           "spec.typo",       "spec.free.in.no",
                                        "spec.map.one.no", "spec.list[1].no", "spec.kept.no"};
    struct schema_causes causes = {0};

    (void)state;
    schema_prune(schema, object, &causes);
    assert_true(json_equal(object, want));
    assert_int_equal(causes.count, 6);
    for (int i = 0; i < 6; i++) {
        bool found = false;

        for (int j = 0; j < 6; j++)
            found = found || strcmp(causes.at[j].field, paths[i]) == 0;
        if (!found)
            fail_msg("%s is not told", paths[i]);
    }
    schema_prune(schema, object, NULL);
    assert_true(json_equal(object, want));
    json_decref(object);
    json_decref(want);
    schema_free(schema);
}

static void lists_say_how_they_merge(void **state) {
    struct schema *schema = compiled(SPEC(
        "\"set\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
        "\"x-kubernetes-list-type\":\"set\"},"
        "\"plain\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
        "\"map\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":"
        "{\"type\":\"string\"},\"b\":{\"type\":\"string\",\"default\":\"\"}},\"required\":[\"a\"]},"
        "\"x-kubernetes-list-type\":"
        "\"map\",\"x-kubernetes-list-map-keys\":[\"a\",\"b\"]},"
        "\"whole\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\"}"));
    const struct schema *spec = schema_property(schema, "spec");
    const char *keys[SCHEMA_KEYS_MAX];

    (void)state;
    assert_int_equal(schema_list_kind(schema_property(spec, "set"), keys), SCHEMA_LIST_SET);
    assert_int_equal(schema_list_kind(schema_property(spec, "plain"), keys), SCHEMA_LIST_ATOMIC);
    assert_int_equal(schema_list_kind(schema_property(spec, "map"), keys), SCHEMA_LIST_MAP);
    assert_string_equal(keys[0], "a");
    assert_string_equal(keys[1], "b");
    assert_null(keys[2]);
    assert_int_equal(schema_list_kind(NULL, keys), SCHEMA_LIST_ATOMIC);
    assert_null(keys[0]);
    assert_true(schema_is_atomic_map(schema_property(spec, "whole")));
    assert_false(schema_is_atomic_map(spec));
    assert_non_null(schema_items(schema_property(spec, "set")));
    assert_null(schema_property(spec, "nothing"));
    assert_null(schema_property(NULL, "nothing"));
    schema_free(schema);
}

static void what_is_not_structural_is_refused(void **state) {
    static const struct {
        const char *schema;
        const char *words;
    } bad[] = {
        {"[]", "must be a schema"},
        {SPEC("\"a\":{}"), "openAPIV3Schema.properties[spec].properties[a].type: Required value"},
        {SPEC("\"a\":{\"type\":\"text\"}"), "Unsupported value"},
        {SPEC("\"a\":{\"type\":\"array\"}"), "items: Required value"},
        {SPEC("\"a\":{\"$ref\":\"x\",\"type\":\"string\"}"), "$ref is not supported"},
        {SPEC("\"a\":{\"type\":\"string\",\"pattern\":\"(\"}"), "pattern: Invalid value: \"(\""},
        {SPEC("\"a\":{\"type\":\"string\",\"pattern\":\"(?=x)\"}"), "RE2 does not know"},
        {SPEC("\"a\":{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}"), "RE2 does not know"},
        {SPEC("\"a\":{\"type\":\"string\",\"maxLength\":-1}"), "maxLength"},
        {SPEC("\"a\":{\"type\":\"string\",\"maxLength\":\"9\"}"), "maxLength"},
        {SPEC("\"a\":{\"type\":\"integer\",\"minimum\":\"9\"}"), "must be a number"},
        {SPEC("\"a\":{\"type\":\"integer\",\"multipleOf\":0}"), "must be a number"},
        {SPEC("\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"}},"
              "\"additionalProperties\":{\"type\":\"string\"}}"),
         "mutual exclusive"},
        {SPEC("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
              "\"x-kubernetes-list-type\":\"map\"}"),
         "x-kubernetes-list-map-keys"},
        {SPEC("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"object\"},"
              "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"k\"]}"),
         "must name a property"},
        {SPEC("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}"),
         "uniqueItems: Forbidden"},
        {SPEC("\"a\":{\"type\":\"string\",\"x-kubernetes-list-type\":\"set\"}"), "type array"},
        {SPEC("\"a\":{\"type\":\"string\",\"anyOf\":[{\"default\":\"x\"}]}"), "structural"},
        {SPEC("\"a\":{\"type\":\"string\",\"enum\":\"x\"}"), "must be a list"},
        {SPEC("\"a\":{\"type\":\"object\",\"default\":{\"q\":1}}"), "must not have unknown fields"},
        {SPEC("\"a\":{\"type\":\"string\",\"anyOf\":[{\"description\":\"x\"}]}"), "structural"},
        {SPEC("\"a\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true}"),
         "must not be empty if"},
        {SPEC("\"a\":{\"type\":\"integer\",\"default\":\"x\"}"), "properties[a].default: Invalid"},
        {SPEC("\"a\":{\"type\":\"object\",\"default\":{},\"required\":[\"b\"]}"),
         "properties[a].default.b: Required value"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *openapi = read(bad[i].schema);
        struct schema *schema = NULL;
        struct err err = {0};

        assert_int_equal(schema_new(openapi, &schema, &err), ERR_INVALID);
        assert_null(schema);
        if (!strstr(err.msg, bad[i].words))
            fail_msg("'%s' does not say '%s'", err.msg, bad[i].words);
        json_decref(openapi);
    }
}

/* Schemas come from outside: nesting is bounded. */
static void a_schema_too_deep_is_refused(void **state) {
    json_t *openapi = read("{\"type\":\"string\"}");
    struct schema *schema = NULL;
    struct err err = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        openapi = json_pack("{s:s,s:o}", "type", "array", "items", openapi);
    assert_int_equal(schema_new(openapi, &schema, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "too deep"));
    json_decref(openapi);
}

/* A pattern that would run for ever gives up instead. */
static void a_match_is_bounded(void **state) {
    struct schema *schema = compiled(SPEC("\"s\":{\"type\":\"string\",\"pattern\":\"^(a+)+$\"}"));
    json_t *object =
        read("{\"spec\":{\"s\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"}}");

    (void)state;
    assert_int_equal(schema_validate(schema, object, NULL), 1);
    json_decref(object);
    schema_free(schema);
}

static void fill_mark(json_t *object) {
    json_object_set_new(object, "mark", json_true());
}

static void judge_mark(const json_t *object, struct schema_causes *causes) {
    if (json_object_get(object, "mark"))
        schema_cause_add(causes, "FieldValueForbidden", "mark", "Forbidden: %d", 7);
}

static void what_is_attached_is_called(void **state) {
    static const struct schema_extra extra = {fill_mark, judge_mark};
    struct schema *schema = compiled("{\"type\":\"object\"}");
    json_t *object = json_object();
    struct schema_causes causes = {0};

    (void)state;
    schema_extend(schema, &extra);
    schema_default(schema, object);
    assert_int_equal(schema_validate(schema, object, &causes), 1);
    assert_string_equal(causes.at[0].message, "Forbidden: 7");
    json_decref(object);
    schema_free(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_worded_as_the_real_server_words_them),
        cmocka_unit_test(reasons_are_those_of_status_causes),
        cmocka_unit_test(only_the_first_causes_are_kept_and_all_counted),
        cmocka_unit_test(defaults_fill_what_is_absent),
        cmocka_unit_test(what_is_not_described_is_pruned_and_told),
        cmocka_unit_test(lists_say_how_they_merge),
        cmocka_unit_test(what_is_not_structural_is_refused),
        cmocka_unit_test(a_schema_too_deep_is_refused),
        cmocka_unit_test(a_match_is_bounded),
        cmocka_unit_test(what_is_attached_is_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
