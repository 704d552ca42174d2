#include "unit.h"

#include "api/objectname.h"
#include "base/random.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stdio.h>

static bool lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* By the letter of RFC 1123. */
static bool plain_dns_label(const char *text, size_t most) {
    const size_t len = strlen(text);

    if (len == 0 || len > most || !lower_or_digit(text[0]) || !lower_or_digit(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!lower_or_digit(text[i]) && text[i] != '-')
            return false;
    return true;
}

static bool alnum(char c) {
    return lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool plain_label_value(const char *text) {
    const size_t len = strlen(text);

    if (len == 0 || len > 63 || !alnum(text[0]) || !alnum(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!alnum(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
            return false;
    return true;
}

static bool ends_in_digest(const char *name, const char *whole) {
    char tail[11], digits[9];
    const size_t len = strlen(name);

    sha256_name_suffix(whole, digits);
    snprintf(tail, sizeof tail, "-x%s", digits);
    return len > 10 && strcmp(name + len - 10, tail) == 0;
}

static void test_names_of_ordinary_zones_are_the_plain_pair(void **state) {
    (void)state;
    static const struct {
        const char *app;
        const char *zone;
        const char *want;
    } rows[] = {
        {"checkout", "gz-1", "checkout--gz-1"},
        {"a", "1", "a--1"},
        {"a-b", "c-d", "a-b--c-d"},
        /* 40 + 2 + 10 = 52: the longest that stays as it is */
        {"a234567890123456789012345678901234567890", "z234567890",
         "a234567890123456789012345678901234567890--z234567890"},
    };
    char name[OBJECTNAME_SIZE];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        objectname_of("retail", rows[i].app, rows[i].zone, name);
        assert_string_equal(name, rows[i].want);
    }
}

static void test_odd_zones_are_cut_and_end_in_a_digest(void **state) {
    (void)state;
    static const struct {
        const char *app;
        const char *zone;
        const char *start;
    } rows[] = {
        {"checkout", "GZ_1", "checkout--gz-1-x"},
        {"checkout", "gz.1", "checkout--gz-1-x"},
        {"checkout", "-gz", "checkout---gz-x"},
        {"checkout", "gz-", "checkout--gz-x"},
        {"checkout", "", "checkout-x"},
        {"checkout", "\xc3\xa9", "checkout-x"},
        {"a234567890123456789012345678901234567890", "z2345678901", /* 53 */
         "a234567890123456789012345678901234567890-x"},
        {"a23456789012345678901234567890", "z23456789012345678901",
         "a23456789012345678901234567890--z234567890-x"}, /* 42 of it, then the tail */
    };
    char name[OBJECTNAME_SIZE], whole[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        objectname_of("retail", rows[i].app, rows[i].zone, name);
        snprintf(whole, sizeof whole, "retail/%s/%s", rows[i].app, rows[i].zone);
        if (strncmp(name, rows[i].start, strlen(rows[i].start)) != 0 ||
            strlen(name) != strlen(rows[i].start) + 8 || !ends_in_digest(name, whole))
            fail_msg("%s / '%s': %s", rows[i].app, rows[i].zone, name);
    }
    /* Only the digest tells these two apart. */
    char other[OBJECTNAME_SIZE];

    objectname_of("retail", "checkout", "GZ_1", name);
    objectname_of("wholesale", "checkout", "GZ_1", other);
    assert_string_not_equal(name, other);
}

static void random_app(struct random *rng, char app[41]) {
    const size_t len = 1 + random_below(rng, 40);

    for (size_t i = 0; i < len; i++)
        app[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[random_below(rng, 36)];
    for (size_t i = 1; i + 1 < len; i++)
        if (app[i - 1] != '-' && random_below(rng, 5) == 0)
            app[i] = '-';
    app[len] = '\0';
}

static void random_zone(struct random *rng, char zone[301]) {
    static const char odd[] = "ab1-_./ AZ\xc3\xa9\"";
    const size_t len = random_below(rng, 10) ? random_below(rng, 16) : random_below(rng, 301);

    for (size_t i = 0; i < len; i++)
        zone[i] = odd[random_below(rng, sizeof odd - 1)];
    zone[len] = '\0';
}

#define TRIPLES 20000

struct named {
    char name[64];
    char whole[420];
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static void assert_distinct(struct named *all, size_t count) {
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(all[i - 1].name, all[i].name) == 0 &&
            strcmp(all[i - 1].whole, all[i].whole) != 0)
            fail_msg("%s is both %s and %s", all[i].name, all[i - 1].whole, all[i].whole);
}

/* Apps of one namespace live beside each other, so within one no two pairs may share a name. */
static void test_names_are_dns_labels_and_distinct(void **state) {
    (void)state;
    struct random rng = {11};
    struct named *all = calloc(TRIPLES, sizeof *all);

    for (size_t i = 0; i < TRIPLES; i++) {
        char app[41], zone[301], name[OBJECTNAME_SIZE];

        random_app(&rng, app);
        random_zone(&rng, zone);
        objectname_of("retail", app, zone, name);
        if (!plain_dns_label(name, OBJECTNAME_MAX) || strncmp(name, app, strlen(app)) != 0)
            fail_msg("'%s' / '%s': '%s'", app, zone, name);
        snprintf(all[i].name, sizeof all[i].name, "%s", name);
        snprintf(all[i].whole, sizeof all[i].whole, "%s/%s", app, zone);
    }
    assert_distinct(all, TRIPLES);
    free(all);
}

static void test_zone_labels_are_label_values_and_distinct(void **state) {
    (void)state;
    struct random rng = {12};
    struct named *all = calloc(TRIPLES, sizeof *all);

    for (size_t i = 0; i < TRIPLES; i++) {
        char zone[301], value[64];

        random_zone(&rng, zone);
        objectname_zone_label(zone, value);
        if (!plain_label_value(value))
            fail_msg("'%s': '%s'", zone, value);
        assert_int_equal(objectname_is_label_value(zone), plain_label_value(zone));
        if (plain_label_value(zone))
            assert_string_equal(value, zone);
        else
            assert_true(ends_in_digest(value, zone) || strlen(value) == 9);
        snprintf(all[i].name, sizeof all[i].name, "%s", value);
        snprintf(all[i].whole, sizeof all[i].whole, "%s", zone);
    }
    assert_distinct(all, TRIPLES);
    free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_ordinary_zones_are_the_plain_pair),
        cmocka_unit_test(test_odd_zones_are_cut_and_end_in_a_digest),
        cmocka_unit_test(test_names_are_dns_labels_and_distinct),
        cmocka_unit_test(test_zone_labels_are_label_values_and_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
