#include "apiserver/schema.h"

#include "apiserver/schema_node.h"
#include "base/auto.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX_BYTES 200 /* of a value shown in a message */
#define NO_PLACE "<nil>"    /* what the real server writes for faults of anyOf and its like */

/* Where a value stands: steps up to the root, written out only once there is a fault. */
struct place {
    const struct place *up;
    const char *name; /* NULL: an element */
    size_t index;
};

/* One run. A trial run (of an alternative of anyOf) has no causes and only counts. */
struct judge {
    struct schema_causes *causes;
    int count;
};

static void judge_value(struct judge *judge, const struct schema *schema, const json_t *value,
                        const struct place *place);

int schema_validate(const struct schema *schema, const json_t *object,
                    struct schema_causes *causes) {
    struct judge judge = {.causes = causes};
    const int before = causes ? causes->count : 0;

    if (!schema)
        return 0;
    judge_value(&judge, schema, object, NULL);
    if (schema->extra && schema->extra->judge && causes)
        schema->extra->judge(object, causes);
    return causes ? causes->count - before : judge.count;
}

static size_t place_write(const struct place *place, char *room, size_t room_bytes) {
    size_t len = 0;
    int more;

    room[0] = '\0';
    if (!place)
        return 0;
    len = place_write(place->up, room, room_bytes);
    more = place->name ? snprintf(room + len, room_bytes - len, "%s%s", len ? "." : "", place->name)
                       : snprintf(room + len, room_bytes - len, "[%zu]", place->index);
    len += more > 0 ? (size_t)more : 0;
    return len < room_bytes ? len : room_bytes - 1;
}

/* A value as Go prints it there: text quoted, the rest as JSON. */
static void value_write(const json_t *value, char *room, size_t room_bytes) {
    auto_free char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);

    snprintf(room, room_bytes, "%.*s", VALUE_MAX_BYTES, text ? text : "null");
}

/* A fault with words alone, at a place. */
static void fault(struct judge *judge, const char *reason, const struct place *place,
                  const char *message) {
    char path[256];

    judge->count++;
    if (!judge->causes)
        return;
    place_write(place, path, sizeof(path));
    schema_cause_add(judge->causes, reason, path, "%s", message);
}

/* "Invalid value: V: PATH in body WORDS". */
static void fault_value(struct judge *judge, const struct place *place, const json_t *value,
                        const char *words) {
    char path[256];
    char shown[VALUE_MAX_BYTES + 8];

    judge->count++;
    if (!judge->causes)
        return;
    place_write(place, path, sizeof(path));
    value_write(value, shown, sizeof(shown));
    schema_cause_add(judge->causes, "FieldValueInvalid", path, "Invalid value: %s: %s in body %s",
                     shown, path, words);
}

/* A fault that the real server gives no field: WORDS hold one %s for the path. */
static void fault_loose(struct judge *judge, const struct place *place, const char *before,
                        const char *after) {
    char path[256];

    judge->count++;
    if (!judge->causes)
        return;
    place_write(place, path, sizeof(path));
    schema_cause_add(judge->causes, "FieldValueInvalid", NO_PLACE, "Invalid value: \"\": %s%s%s",
                     before, path, after);
}

static void fault_type(struct judge *judge, const struct place *place, const char *wanted,
                       const char *shown) {
    char path[256];

    judge->count++;
    if (!judge->causes)
        return;
    place_write(place, path, sizeof(path));
    schema_cause_add(judge->causes, "FieldValueTypeInvalid", path,
                     "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", shown, path,
                     wanted, shown);
}

static const char *type_of(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    default:
        return "null";
    }
}

/* 1.0 is a whole number to the real server. */
static bool is_whole(const json_t *value) {
    return json_is_integer(value) ||
           (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value));
}

static bool has_type(const struct schema *schema, const json_t *value) {
    if (json_is_null(value))
        return schema->nullable || schema->type == SCHEMA_ANY;
    switch (schema->type) {
    case SCHEMA_ANY:
        return true;
    case SCHEMA_OBJECT:
        return json_is_object(value);
    case SCHEMA_ARRAY:
        return json_is_array(value);
    case SCHEMA_STRING:
        return json_is_string(value);
    case SCHEMA_INTEGER:
        return is_whole(value);
    case SCHEMA_NUMBER:
        return json_is_number(value);
    case SCHEMA_BOOLEAN:
        return json_is_boolean(value);
    case SCHEMA_INT_OR_STRING:
        return is_whole(value) || json_is_string(value);
    }
    return true;
}

static void judge_type(struct judge *judge, const struct schema *schema, const json_t *value,
                       const struct place *place) {
    static const char *const names[] = {"",        "object", "array",   "string",
                                        "integer", "number", "boolean", "integer,string"};

    if (!has_type(schema, value))
        fault_type(judge, place, names[schema->type], type_of(value));
}

static int count_faults(const struct schema *schema, const json_t *value,
                        const struct place *place) {
    struct judge trial = {0};

    judge_value(&trial, schema, value, place);
    return trial.count;
}

/* How many alternatives hold; ret_best is the one with the fewest faults. */
static int try_choice(const struct schema_choice *choice, const json_t *value,
                      const struct place *place, int *ret_best) {
    int valid = 0;
    int least = -1;

    for (int i = 0; i < choice->count; i++) {
        const int faults = count_faults(choice->at[i], value, place);

        valid += faults == 0;
        if (least < 0 || faults < least) {
            least = faults;
            *ret_best = i;
        }
    }
    return valid;
}

static void judge_choices(struct judge *judge, const struct schema *schema, const json_t *value,
                          const struct place *place) {
    int best = 0;
    int valid;

    if (schema->any_of.count && try_choice(&schema->any_of, value, place, &best) == 0) {
        fault_loose(judge, place, "\"", "\" must validate at least one schema (anyOf)");
        judge_value(judge, schema->any_of.at[best], value, place);
    }
    if (schema->one_of.count && (valid = try_choice(&schema->one_of, value, place, &best)) != 1) {
        char words[120] = "\" must validate one and only one schema (oneOf). Found none valid";

        if (valid)
            snprintf(words, sizeof(words),
                     "\" must validate one and only one schema (oneOf). Found %d valid "
                     "alternatives",
                     valid);
        fault_loose(judge, place, "\"", words);
        if (!valid)
            judge_value(judge, schema->one_of.at[best], value, place);
    }
    if (schema->all_of.count) {
        valid = try_choice(&schema->all_of, value, place, &best);
        for (int i = 0; i < schema->all_of.count; i++)
            judge_value(judge, schema->all_of.at[i], value, place);
        if (valid != schema->all_of.count)
            fault_loose(judge, place, "\"",
                        valid ? "\" must validate all the schemas (allOf)"
                              : "\" must validate all the schemas (allOf). None validated");
    }
    if (schema->none_of && count_faults(schema->none_of, value, place) == 0)
        fault_loose(judge, place, "\"", "\" must not validate the schema (not)");
}

/* Characters, not bytes: a byte that does not continue one starts one. */
static int64_t count_characters(const json_t *value) {
    const char *text = json_string_value(value);
    const size_t size = json_string_length(value);
    int64_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void judge_text(struct judge *judge, const struct schema *schema, const json_t *value,
                       const struct place *place) {
    char words[PATTERN_MAX_BYTES + 32];

    if (schema->length_max >= 0 && count_characters(value) > schema->length_max) {
        snprintf(words, sizeof(words), "Too long: may not be more than %" PRId64 " byte%s",
                 schema->length_max, schema->length_max == 1 ? "" : "s");
        fault(judge, "FieldValueTooLong", place, words);
    }
    if (schema->length_min >= 0 && count_characters(value) < schema->length_min) {
        snprintf(words, sizeof(words), "should be at least %" PRId64 " chars long",
                 schema->length_min);
        fault_value(judge, place, value, words);
    }
    if (schema->pattern &&
        !pattern_matches(schema->pattern, json_string_value(value), json_string_length(value))) {
        snprintf(words, sizeof(words), "should match '%s'", pattern_text(schema->pattern));
        fault_value(judge, place, value, words);
    }
    if (schema->format > SCHEMA_FORMAT_INT64 &&
        !schema_format_holds(schema->format, json_string_value(value)))
        fault_type(judge, place, schema->format_name, json_string_value(value));
}

/* -1, 0, 1; exact while both are whole. */
static int compare(const json_t *a, const json_t *b) {
    if (json_is_integer(a) && json_is_integer(b))
        return (json_integer_value(a) > json_integer_value(b)) -
               (json_integer_value(a) < json_integer_value(b));
    return (json_number_value(a) > json_number_value(b)) -
           (json_number_value(a) < json_number_value(b));
}

static bool is_multiple(const json_t *value, const json_t *factor) {
    double ratio;

    if (json_is_integer(value) && json_is_integer(factor))
        return json_integer_value(value) % json_integer_value(factor) == 0;
    ratio = json_number_value(value) / json_number_value(factor);
    return fabs(ratio - nearbyint(ratio)) < 1e-9 * fmax(1, fabs(ratio));
}

static void fault_bound(struct judge *judge, const struct place *place, const json_t *value,
                        const char *relation, const json_t *bound) {
    char shown[VALUE_MAX_BYTES + 8];
    char words[VALUE_MAX_BYTES + 64];

    value_write(bound, shown, sizeof(shown));
    snprintf(words, sizeof(words), "should be %s %s", relation, shown);
    fault_value(judge, place, value, words);
}

/* What a whole number of this format can hold. */
static void judge_range(struct judge *judge, const struct schema *schema, const json_t *value,
                        const struct place *place) {
    const int64_t whole = json_is_integer(value) ? json_integer_value(value) : 0;
    char words[96];

    if (schema->type != SCHEMA_INTEGER ||
        (is_whole(value) &&
         (schema->format != SCHEMA_FORMAT_INT32 || (whole <= INT32_MAX && whole >= INT32_MIN))))
        return;
    if (schema->format_name)
        snprintf(words, sizeof(words),
                 "Checked value must be of type integer with format %.24s in ",
                 schema->format_name);
    else
        snprintf(words, sizeof(words),
                 "Checked value must be of type integer (default format) in ");
    fault_loose(judge, place, words, "");
}

static void judge_number(struct judge *judge, const struct schema *schema, const json_t *value,
                         const struct place *place) {
    int order;

    judge_range(judge, schema, value, place);
    if (schema->multiple_of && !is_multiple(value, schema->multiple_of))
        fault_bound(judge, place, value, "a multiple of", schema->multiple_of);
    if (schema->maximum && ((order = compare(value, schema->maximum)) > 0 ||
                            (order == 0 && schema->exclusive_maximum)))
        fault_bound(judge, place, value,
                    schema->exclusive_maximum ? "less than" : "less than or equal to",
                    schema->maximum);
    if (schema->minimum && ((order = compare(value, schema->minimum)) < 0 ||
                            (order == 0 && schema->exclusive_minimum)))
        fault_bound(judge, place, value,
                    schema->exclusive_minimum ? "greater than" : "greater than or equal to",
                    schema->minimum);
}

static void fault_many(struct judge *judge, const struct place *place, size_t count, int64_t max) {
    char words[96];

    snprintf(words, sizeof(words), "Too many: %zu: must have at most %" PRId64 " item%s", count,
             max, max == 1 ? "" : "s");
    fault(judge, "FieldValueTooMany", place, words);
}

/* What stands for an element when twins are looked for: itself, or its keys alone. New reference.
 */
static json_t *identity_new(const struct schema *schema, const json_t *item) {
    json_t *keys;

    if (schema->list != SCHEMA_LIST_MAP)
        return json_incref((json_t *)(uintptr_t)item);
    keys = json_object();
    for (int i = 0; i < SCHEMA_KEYS_MAX && schema->keys[i]; i++) {
        json_t *value = json_object_get(item, schema->keys[i]);

        if (value)
            json_object_set(keys, schema->keys[i], value);
    }
    return keys;
}

/* Lists of type set and map hold nobody twice. Each value that repeats is told once, at its second
 * place. Cost is linear: what was seen is kept by its JSON. */
static void judge_twins(struct judge *judge, const struct schema *schema, const json_t *list,
                        const struct place *place) {
    json_auto_t *seen = json_object();

    for (size_t i = 0; i < json_array_size(list); i++) {
        const struct place at = {.up = place, .index = i};
        const json_t *item = json_array_get(list, i);
        json_auto_t *identity = identity_new(schema, item);
        auto_free char *text =
            json_dumps(identity, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        const json_int_t times = text ? json_integer_value(json_object_get(seen, text)) : 0;
        char words[VALUE_MAX_BYTES + 32];

        if (schema->list == SCHEMA_LIST_MAP && !json_is_object(item)) {
            fault(judge, "FieldValueInvalid", &at,
                  "Invalid value: must be an object for an array of list-type map");
            continue;
        }
        if (!text)
            continue;
        json_object_set_new(seen, text, json_integer(times + 1));
        if (times != 1)
            continue;
        snprintf(words, sizeof(words), "Duplicate value: %.*s", VALUE_MAX_BYTES, text);
        fault(judge, "FieldValueDuplicate", &at, words);
    }
}

static void judge_list(struct judge *judge, const struct schema *schema, const json_t *list,
                       const struct place *place) {
    const size_t count = json_array_size(list);
    char words[64];

    if (schema->items_max >= 0 && count > (uint64_t)schema->items_max) {
        fault_many(judge, place, count, schema->items_max);
        return; /* what is too long is not read on: that is what the bound is for */
    }
    if (schema->items_min >= 0 && count < (uint64_t)schema->items_min) {
        json_auto_t *shown = json_integer((json_int_t)count);

        snprintf(words, sizeof(words), "should have at least %" PRId64 " items", schema->items_min);
        fault_value(judge, place, shown, words);
    }
    for (size_t i = 0; schema->items && i < count; i++) {
        const struct place at = {.up = place, .index = i};

        judge_value(judge, schema->items, json_array_get(list, i), &at);
    }
    if (count > 1 && schema->list != SCHEMA_LIST_ATOMIC)
        judge_twins(judge, schema, list, place);
}

static void judge_values(struct judge *judge, const struct schema *schema, const json_t *value,
                         const struct place *place) {
    char words[480];
    char shown[VALUE_MAX_BYTES + 8];
    size_t len;

    if (!schema->values)
        return;
    for (size_t i = 0; i < json_array_size(schema->values); i++)
        if (json_equal(json_array_get(schema->values, i), value))
            return;
    value_write(value, shown, sizeof(shown));
    len =
        (size_t)snprintf(words, sizeof(words), "Unsupported value: %s: supported values: ", shown);
    for (size_t i = 0; i < json_array_size(schema->values) && len < sizeof(words) - 1; i++) {
        const json_t *allowed = json_array_get(schema->values, i);
        int more;

        value_write(allowed, shown, sizeof(shown));
        more = snprintf(words + len, sizeof(words) - len,
                        json_is_string(allowed) ? "%s%s" : "%s\"%s\"", i ? ", " : "", shown);
        len += more > 0 ? (size_t)more : 0;
    }
    fault(judge, "FieldValueNotSupported", place, words);
}

static void judge_embedded(struct judge *judge, const json_t *object, const struct place *place) {
    static const char *const names[] = {"apiVersion", "kind"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct place at = {.up = place, .name = names[i]};
        const json_t *value = json_object_get(object, names[i]);

        if (!value)
            fault(judge, "FieldValueRequired", &at, "Required value");
        else if (!json_is_string(value))
            fault(judge, "FieldValueInvalid", &at, "Invalid value: must be a string");
        else if (json_string_length(value) == 0)
            fault(judge, "FieldValueInvalid", &at, "Invalid value: \"\": must not be empty");
    }
}

static void judge_object(struct judge *judge, const struct schema *schema, const json_t *object,
                         const struct place *place) {
    const size_t count = json_object_size(object);
    const char *key;
    json_t *value;
    char words[64];

    if (schema->fields_max >= 0 && count > (uint64_t)schema->fields_max)
        fault_many(judge, place, count, schema->fields_max);
    if (schema->fields_min >= 0 && count < (uint64_t)schema->fields_min) {
        json_auto_t *shown = json_integer((json_int_t)count);

        snprintf(words, sizeof(words), "should have at least %" PRId64 " properties",
                 schema->fields_min);
        fault_value(judge, place, shown, words);
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        const struct place at = {.up = place, .name = key};
        const struct schema *child = schema_property(schema, key);

        if (child)
            judge_value(judge, child, value, &at);
    }
    for (size_t i = 0; i < json_array_size(schema->required); i++) {
        const char *name = json_string_value(json_array_get(schema->required, i));
        const struct place at = {.up = place, .name = name};

        if (name && !json_object_get(object, name))
            fault(judge, "FieldValueRequired", &at, "Required value");
    }
    if (schema->is_embedded)
        judge_embedded(judge, object, place);
}

static void judge_value(struct judge *judge, const struct schema *schema, const json_t *value,
                        const struct place *place) {
    judge_type(judge, schema, value, place);
    judge_choices(judge, schema, value, place);
    if (json_is_string(value))
        judge_text(judge, schema, value, place);
    else if (json_is_number(value))
        judge_number(judge, schema, value, place);
    else if (json_is_array(value))
        judge_list(judge, schema, value, place);
    judge_values(judge, schema, value, place);
    if (json_is_object(value))
        judge_object(judge, schema, value, place);
}
