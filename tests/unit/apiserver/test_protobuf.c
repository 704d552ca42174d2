#include "apiserver/protobuf.h"

#include "base/auto.h"
#include "base/random.h"
#include "base/str.h"
#include "unit.h"

#include <stdio.h>

/* Appends a field of bytes; everything here is shorter than 128 * 128. */
static void put(struct str *out, int number, const void *bytes, size_t size_bytes) {
    const unsigned char head[] = {(unsigned char)(number << 3 | 2),
                                  (unsigned char)(size_bytes % 128 | 128),
                                  (unsigned char)(size_bytes / 128)};

    assert_int_equal(str_add(out, head, sizeof head, NULL), 0);
    assert_int_equal(str_add(out, bytes, size_bytes, NULL), 0);
}

static void put_text(struct str *out, int number, const char *text) {
    put(out, number, text, strlen(text));
}

/* Appends inner as a field and empties it. */
static void put_message(struct str *out, int number, struct str *inner) {
    put(out, number, inner->data ? inner->data : "", inner->size_bytes);
    str_clear(inner);
}

static void put_number(struct str *out, int number, unsigned char value) {
    const unsigned char bytes[] = {(unsigned char)(number << 3), value};

    assert_int_equal(str_add(out, bytes, sizeof bytes, NULL), 0);
}

static void wrap(struct str *out, const char *api_version, const char *kind, struct str *raw) {
    struct str type;

    str_init(&type, 1000);
    put_text(&type, 1, api_version);
    put_text(&type, 2, kind);
    str_add(out, "k8s", 4, NULL);
    put_message(out, 1, &type);
    put_message(out, 2, raw);
    str_done(&type);
}

/* A deployment as kubectl create deployment writes it. */
static void deployment(struct str *out) {
    struct str raw, a, b, c;

    for (struct str *each[] = {&raw, &a, &b, &c}, **at = each; at < each + 4; at++)
        str_init(*at, 10000);
    put_text(&a, 1, "web");
    put_text(&a, 2, ""); /* generateName: empty, thus absent */
    put_text(&b, 1, "app");
    put_text(&b, 2, "x");
    put_message(&a, 11, &b);
    put_message(&a, 8, &b); /* no creationTimestamp */
    put_message(&raw, 1, &a);
    put_number(&a, 1, 0); /* replicas: a pointer, thus 0 */
    put_number(&c, 1, 1);
    put_number(&c, 2, 0);
    put_text(&c, 3, "25%");
    put_message(&b, 1, &c);
    put_number(&c, 1, 0);
    put_number(&c, 2, 3);
    put_text(&c, 3, "");
    put_message(&b, 2, &c);
    put_message(&c, 2, &b);
    put_message(&a, 4, &c);
    put_number(&a, 12, 1); /* of a later version */
    put_message(&raw, 2, &a);
    wrap(out, "apps/v1", "Deployment", &raw);
    str_done(&raw);
    str_done(&a);
    str_done(&b);
    str_done(&c);
}

static void a_deployment_is_read(void **state) {
    struct str body;
    json_t *object = NULL;

    (void)state;
    str_init(&body, 10000);
    deployment(&body);
    assert_int_equal(protobuf_read(body.data, body.size_bytes, &object, NULL), 0);
    auto_free char *text = json_dumps(object, JSON_COMPACT);

    assert_string_equal(
        text, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\","
              "\"labels\":{\"app\":\"x\"}},\"spec\":{\"replicas\":0,\"strategy\":{"
              "\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":3}}}}");
    json_decref(object);
    str_done(&body);
}

static void bytes_become_base64_and_times_text(void **state) {
    struct str body, raw, meta, part;
    json_t *object = NULL;

    (void)state;
    str_init(&body, 10000);
    str_init(&raw, 10000);
    str_init(&meta, 1000);
    str_init(&part, 1000);
    put_number(&part, 1, 61);
    put_message(&meta, 8, &part);
    put_message(&raw, 1, &meta);
    put_text(&part, 1, "k");
    put_text(&part, 2, "value");
    put_message(&raw, 2, &part);
    wrap(&body, "v1", "Secret", &raw);
    assert_int_equal(protobuf_read(body.data, body.size_bytes, &object, NULL), 0);
    auto_free char *text = json_dumps(object, JSON_COMPACT);

    assert_string_equal(text, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"
                              "\"creationTimestamp\":\"1970-01-01T00:01:01Z\"},\"data\":{\"k\":"
                              "\"dmFsdWU=\"}}");
    json_decref(object);
    str_done(&body);
    str_done(&raw);
    str_done(&meta);
    str_done(&part);
}

static void other_kinds_and_other_bytes_are_refused(void **state) {
    struct str body, raw;
    json_t *object = NULL;

    (void)state;
    str_init(&body, 1000);
    str_init(&raw, 1000);
    put_text(&raw, 1, "");
    wrap(&body, "v1", "Unheard", &raw);
    assert_int_equal(protobuf_read(body.data, body.size_bytes, &object, NULL), ERR_NOTFOUND);
    assert_int_equal(protobuf_read("{}", 2, &object, NULL), ERR_INVALID);
    assert_int_equal(protobuf_read("k8s", 4, &object, NULL), ERR_INVALID);
    assert_null(object);
    str_done(&body);
    str_done(&raw);
}

/* Cut anywhere, or with bytes turned at random, it is read or refused, and nothing else happens. */
static void broken_bodies_do_no_harm(void **state) {
    struct random rng = {3};
    struct str body;

    (void)state;
    str_init(&body, 10000);
    deployment(&body);
    for (int i = 0; i < 20000; i++) {
        json_t *object = NULL;
        const size_t size = i < (int)body.size_bytes ? (size_t)i : body.size_bytes;
        char *copy = str_dup_len(body.data, size);

        for (int turns = i < (int)body.size_bytes ? 0 : 3; turns > 0; turns--)
            copy[random_below(&rng, size)] = (char)random_next(&rng);
        char *exact = str_alloc(size + (size == 0), 1); /* no NUL behind: a sanitizer sees it */

        memcpy(exact, copy, size);
        if (protobuf_read(exact, size, &object, NULL) == 0)
            json_decref(object);
        else
            assert_null(object);
        free(exact);
        free(copy);
    }
    str_done(&body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deployment_is_read),
        cmocka_unit_test(bytes_become_base64_and_times_text),
        cmocka_unit_test(other_kinds_and_other_bytes_are_refused),
        cmocka_unit_test(broken_bodies_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
