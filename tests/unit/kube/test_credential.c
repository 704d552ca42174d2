#include "kube/credential.h"

#include "unit.h"

#include "base/auto.h"
#include "kube/execplugin.h"
#include "kube/keyfile.h"
#include "kube/kubeconfig.h"
#include "tempfolder.h"

#define WALL_MS INT64_C(1700000000000)

static bool is_quiet(const struct credential_step *step) {
    return !step->token && !step->certificate && !step->ca && !step->run && !step->problem.code;
}

static struct kubeconfig_login file_login(char *token) {
    return (struct kubeconfig_login){
        .url = "https://h", .token = token, .token_file = (char *)tempfolder_path("tok")};
}

static struct execplugin_result result_of(const char *token, int64_t expires_wall_ms) {
    return (struct execplugin_result){.token = str_dup(token), .expires_wall_ms = expires_wall_ms};
}

static void C04_the_last_good_file_content_wins(void **state) {
    tempfolder_put("tok", "two");
    struct kubeconfig_login login = file_login("one");
    struct credential *c = credential_new(&login, 100);

    (void)state;
    assert_string_equal(credential_token(c), "one");
    assert_true(credential_step(c, 100, WALL_MS).token);
    assert_string_equal(credential_token(c), "two");
    tempfolder_put("tok", " \n");
    struct credential_step step = credential_step(c, 100 + CREDENTIAL_TOKEN_PERIOD_MS, WALL_MS);

    assert_int_equal(step.problem.code, ERR_INVALID);
    assert_false(step.token);
    assert_string_equal(credential_token(c), "two");
    credential_free(c);
}

static void C05_a_renamed_file_is_on_the_wire_within_61_s(void **state) {
    (void)state;
    for (int64_t swap_ms = 0; swap_ms <= 120000; swap_ms += 500) {
        tempfolder_put("tok", "old\n");
        struct kubeconfig_login login = file_login("old");
        struct credential *c = credential_new(&login, 0);
        int64_t again_ms = 0;
        int64_t seen_ms = -1;

        for (int64_t now_ms = 0; now_ms <= 200000 && seen_ms < 0; now_ms += 500) {
            if (now_ms == swap_ms)
                tempfolder_put("tok", "\tnew\r\n");
            if (now_ms < again_ms)
                continue;
            const struct credential_step step = credential_step(c, now_ms, WALL_MS);

            again_ms = step.again_at_ms;
            assert_true(again_ms > now_ms);
            if (step.token)
                seen_ms = now_ms;
        }
        assert_string_equal(credential_token(c), "new");
        assert_in_range(seen_ms, swap_ms, swap_ms + 61000);
        credential_free(c);
    }
}

static void C05_a_read_error_keeps_the_last_value(void **state) {
    tempfolder_put("tok", "old");
    struct kubeconfig_login login = file_login("old");
    struct credential *c = credential_new(&login, 0);
    struct credential_step step = credential_step(c, 0, WALL_MS);

    (void)state;
    assert_true(is_quiet(&step));
    unlink(login.token_file);
    for (int i = 0; i < 5; i++) {
        const int64_t now_ms = step.again_at_ms;

        step = credential_step(c, now_ms, WALL_MS);
        assert_int_equal(step.problem.code, ERR_NOTFOUND);
        assert_non_null(strstr(step.problem.msg, login.token_file));
        assert_int_equal(step.again_at_ms, now_ms + CREDENTIAL_RETRY_MS);
        assert_string_equal(credential_token(c), "old");
    }
    tempfolder_put("tok", "new");
    assert_true(credential_step(c, step.again_at_ms, WALL_MS).token);
    assert_string_equal(credential_token(c), "new");
    credential_free(c);
}

static void C05_a_401_reads_at_once_and_a_storm_reads_once(void **state) {
    tempfolder_put("tok", "old");
    struct kubeconfig_login login = file_login("old");
    struct credential *c = credential_new(&login, 0);
    const uint64_t old = credential_generation(c);
    struct credential_step step = credential_step(c, 0, WALL_MS);

    (void)state;
    tempfolder_put("tok", "new");
    step = credential_step(c, 5000, WALL_MS);
    assert_true(is_quiet(&step)); /* not due */
    for (int i = 0; i < 50; i++)
        credential_rejected(c, old, 5000);
    step = credential_step(c, 5000, WALL_MS);
    assert_true(step.token);
    assert_string_equal(credential_token(c), "new");
    assert_int_not_equal(credential_generation(c), old);
    /* late answers to calls of the old generation change nothing */
    tempfolder_put("tok", "newer");
    credential_rejected(c, old, 9000);
    step = credential_step(c, 9000, WALL_MS);
    assert_true(is_quiet(&step));
    /* a token that stays refused is looked for once a second */
    step = credential_step(c, step.again_at_ms, WALL_MS);
    int64_t now_ms = 5000 + CREDENTIAL_TOKEN_PERIOD_MS - CREDENTIAL_LEEWAY_MS;

    assert_string_equal(credential_token(c), "newer");
    credential_rejected(c, credential_generation(c), now_ms + 10);
    tempfolder_put("tok", "newest");
    step = credential_step(c, now_ms + 10, WALL_MS);
    assert_true(is_quiet(&step));
    assert_int_equal(step.again_at_ms, now_ms + CREDENTIAL_REJECT_GAP_MS);
    assert_true(credential_step(c, step.again_at_ms, WALL_MS).token);
    credential_free(c);
}

static void C06_a_bad_file_never_replaces_a_good_token(void **state) {
    auto_free char *big = str_alloc(KEYFILE_MAX_BYTES + 2, 1);
    static const size_t sizes[] = {KEYFILE_TOKEN_MAX_BYTES + 1, KEYFILE_MAX_BYTES + 1};

    (void)state;
    memset(big, 'x', KEYFILE_MAX_BYTES + 1);
    tempfolder_put("tok", "good");
    struct kubeconfig_login login = file_login("good");
    struct credential *c = credential_new(&login, 0);
    int64_t now_ms = credential_step(c, 0, WALL_MS).again_at_ms;

    for (int i = 0; i < 5; i++) {
        if (i < 2)
            tempfolder_put_bytes("tok", big, sizes[i]);
        else if (i == 2)
            tempfolder_put("tok", "a\nb");
        else if (i == 3)
            tempfolder_put_bytes("tok", "a\0b", 3);
        else
            assert_int_equal(unlink(login.token_file) + mkfifo(login.token_file, 0600), 0);
        const struct credential_step step = credential_step(c, now_ms, WALL_MS);

        assert_int_equal(step.problem.code, ERR_INVALID); /* a pipe is not waited for either */
        assert_string_equal(credential_token(c), "good");
        now_ms = step.again_at_ms;
    }
    credential_free(c);
}

static struct kubeconfig_login pair_login(void) {
    tempfolder_put("crt", CERT_A);
    tempfolder_put("key", KEY_A);
    tempfolder_put("ca", CERT_A);
    return (struct kubeconfig_login){
        .url = "https://h",
        .ca_pem = CERT_A,
        .ca_file = (char *)tempfolder_path("ca"),
        .cert_pem = CERT_A,
        .cert_file = (char *)tempfolder_path("crt"),
        .key_pem = KEY_A,
        .key_file = (char *)tempfolder_path("key"),
    };
}

static void C08_a_new_pair_is_told_within_one_period(void **state) {
    struct kubeconfig_login login = pair_login();
    struct credential *c = credential_new(&login, 0);
    struct credential_step step = credential_step(c, 0, WALL_MS);
    const uint64_t before = credential_generation(c);
    const char *key = NULL;

    (void)state;
    assert_true(is_quiet(&step));
    assert_int_equal(step.again_at_ms, CREDENTIAL_FILE_PERIOD_MS);
    tempfolder_put("crt", CERT_B);
    tempfolder_put("key", KEY_B);
    step = credential_step(c, CREDENTIAL_FILE_PERIOD_MS, WALL_MS);
    assert_true(step.certificate);
    assert_false(step.token || step.ca);
    assert_string_equal(credential_certificate(c, &key), CERT_B);
    assert_string_equal(key, KEY_B);
    assert_int_not_equal(credential_generation(c), before);
    credential_free(c);
}

static void C08_half_a_pair_is_told_again_once_it_fits(void **state) {
    struct kubeconfig_login login = pair_login();
    struct credential *c = credential_new(&login, 0);
    const char *key = NULL;

    (void)state;
    credential_step(c, 0, WALL_MS);
    tempfolder_put("crt", CERT_B);
    int64_t now_ms = CREDENTIAL_FILE_PERIOD_MS;

    assert_true(credential_step(c, now_ms, WALL_MS).certificate);
    credential_refused(c, now_ms); /* key A does not fit certificate B */
    struct credential_step step = credential_step(c, now_ms + CREDENTIAL_RETRY_MS, WALL_MS);

    assert_true(step.certificate); /* unchanged, and told again */
    credential_refused(c, now_ms + CREDENTIAL_RETRY_MS);
    tempfolder_put("key", KEY_B);
    now_ms += 2 * CREDENTIAL_RETRY_MS;
    assert_true(credential_step(c, now_ms, WALL_MS).certificate);
    assert_string_equal(credential_certificate(c, &key), CERT_B);
    assert_string_equal(key, KEY_B);
    step = credential_step(c, now_ms + CREDENTIAL_FILE_PERIOD_MS, WALL_MS);
    assert_true(is_quiet(&step));
    credential_free(c);
}

static void C08_a_cut_file_keeps_the_last_pair(void **state) {
    struct kubeconfig_login login = pair_login();
    struct credential *c = credential_new(&login, 0);
    const char *key = NULL;
    const char *const cut[] = {"", "-----BEGIN CERTIFICATE-----\nQUFB", KEY_A};
    int64_t now_ms = credential_step(c, 0, WALL_MS).again_at_ms;

    (void)state;
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        tempfolder_put("crt", cut[i]);
        const struct credential_step step = credential_step(c, now_ms, WALL_MS);

        assert_int_equal(step.problem.code, ERR_INVALID);
        assert_false(step.certificate);
        assert_string_equal(credential_certificate(c, &key), CERT_A);
        now_ms += CREDENTIAL_RETRY_MS;
    }
    /* a 401 looks at certificates too */
    tempfolder_put("crt", CERT_B);
    credential_rejected(c, credential_generation(c), now_ms);
    assert_true(credential_step(c, now_ms, WALL_MS).certificate);
    credential_free(c);
}

static void C09_a_new_CA_is_told_and_a_broken_one_is_not(void **state) {
    struct kubeconfig_login login = pair_login();
    struct credential *c = credential_new(&login, 0);
    int64_t now_ms = credential_step(c, 0, WALL_MS).again_at_ms;

    (void)state;
    tempfolder_put("ca", "");
    struct credential_step step = credential_step(c, now_ms, WALL_MS);

    assert_int_equal(step.problem.code, ERR_INVALID);
    assert_string_equal(credential_ca(c), CERT_A);
    tempfolder_put("ca", CERT_A CERT_B);
    step = credential_step(c, step.again_at_ms, WALL_MS);
    assert_true(step.ca);
    assert_false(step.certificate);
    assert_string_equal(credential_ca(c), CERT_A CERT_B);
    credential_free(c);
    /* a pod without ca.crt: none is no problem, and one that comes is taken */
    login.ca_pem = NULL;
    unlink(login.ca_file);
    c = credential_new(&login, 0);
    step = credential_step(c, 0, WALL_MS);
    assert_true(is_quiet(&step));
    tempfolder_put("ca", CERT_B);
    step = credential_step(c, step.again_at_ms, WALL_MS);
    assert_true(step.ca);
    assert_string_equal(credential_ca(c), CERT_B);
    credential_free(c);
}

static void a_login_without_files_never_wakes(void **state) {
    const struct kubeconfig_login login = {.url = "https://h", .token = "t"};
    struct credential *c = credential_new(&login, 0);

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct credential_step step = credential_step(c, i * 1000000, WALL_MS);

        assert_true(is_quiet(&step));
        assert_int_equal(step.again_at_ms, INT64_MAX);
        credential_rejected(c, credential_generation(c), i * 1000000);
        credential_refused(c, i * 1000000);
    }
    assert_true(credential_ready(c));
    credential_free(c);
    credential_free(NULL);
}

static void C11_fifty_401_are_one_run(void **state) {
    struct execplugin_spec spec = {0};
    const struct kubeconfig_login login = {.url = "https://h", .exec = &spec};
    struct credential *c = credential_new(&login, 0);
    int runs = 0;
    int64_t now_ms = 20000;

    (void)state;
    assert_false(credential_ready(c));
    assert_true(credential_step(c, 0, WALL_MS).run);
    assert_false(credential_step(c, 0, WALL_MS).run); /* it is running */
    struct execplugin_result first = result_of("one", 0);

    credential_ran(c, &first, 0);
    assert_null(first.token);
    assert_true(credential_ready(c));
    assert_true(credential_step(c, 0, WALL_MS).token);
    const uint64_t generation = credential_generation(c);

    for (int i = 0; i < 50; i++) {
        credential_rejected(c, generation, now_ms);
        runs += credential_step(c, now_ms, WALL_MS).run;
        if (i == 25) {
            struct execplugin_result second = result_of("two", 0);

            credential_ran(c, &second, now_ms);
        }
        now_ms += 100;
    }
    assert_int_equal(runs, 1);
    assert_string_equal(credential_token(c), "two");
    /* the new one is refused as well: again, but not at once */
    credential_rejected(c, credential_generation(c), 22600);
    const struct credential_step step = credential_step(c, 22600, WALL_MS);

    assert_false(step.run);
    assert_int_equal(step.again_at_ms, 22500 + CREDENTIAL_RETRY_MS);
    assert_true(credential_step(c, step.again_at_ms, WALL_MS).run);
    credential_free(c);
}

static void C11_expiry_of_token_and_certificate_asks_for_a_run(void **state) {
    struct execplugin_spec spec = {0};
    const struct kubeconfig_login login = {.url = "https://h", .exec = &spec};
    struct credential *c = credential_new(&login, 0);
    const char *key = NULL;

    (void)state;
    assert_true(credential_step(c, 0, WALL_MS).run);
    struct execplugin_result pair = {.cert_pem = str_dup(CERT_A),
                                     .key_pem = str_dup(KEY_A),
                                     .expires_wall_ms = WALL_MS + 600000};

    credential_ran(c, &pair, 0);
    struct credential_step step = credential_step(c, 0, WALL_MS);

    assert_true(step.certificate);
    assert_false(step.token);
    assert_string_equal(credential_certificate(c, &key), CERT_A);
    int64_t now_ms = 0;

    while (!step.run) { /* wakes at least every minute, since wall time may be set */
        assert_in_range(step.again_at_ms, now_ms + 1, now_ms + 60000);
        now_ms = step.again_at_ms;
        step = credential_step(c, now_ms, WALL_MS + now_ms);
    }
    assert_int_equal(now_ms, 600000 - CREDENTIAL_LEEWAY_MS);
    assert_false(credential_step(c, now_ms + 30000, WALL_MS + 700000).run); /* one at a time */
    /* from certificate to token: the old kind is gone */
    struct execplugin_result token = result_of("t", WALL_MS + 1);

    credential_ran(c, &token, now_ms);
    step = credential_step(c, now_ms, WALL_MS + now_ms);
    assert_true(step.token && step.certificate);
    assert_null(credential_certificate(c, &key));
    assert_null(key);
    /* what comes expired does not spin */
    assert_false(step.run);
    assert_int_equal(step.again_at_ms, now_ms + CREDENTIAL_RETRY_MS);
    credential_free(c);
}

static void C11_a_failing_program_is_tried_ever_less_often(void **state) {
    struct execplugin_spec spec = {0};
    const struct kubeconfig_login login = {.url = "https://h", .exec = &spec};
    struct credential *c = credential_new(&login, 0);
    int64_t now_ms = 0;
    int64_t gap_ms = 0;

    (void)state;
    assert_true(credential_step(c, 0, WALL_MS).run);
    for (int i = 0; i < 10; i++) {
        credential_ran(c, NULL, now_ms);
        struct credential_step step = credential_step(c, now_ms, WALL_MS);

        assert_true(is_quiet(&step));
        assert_true(step.again_at_ms - now_ms >= gap_ms);
        gap_ms = step.again_at_ms - now_ms;
        assert_in_range(gap_ms, CREDENTIAL_RETRY_MS, 320000);
        now_ms = step.again_at_ms;
        assert_true(credential_step(c, now_ms, WALL_MS).run);
    }
    assert_int_equal(gap_ms, 320000);
    assert_false(credential_ready(c));
    credential_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C04_the_last_good_file_content_wins),
        cmocka_unit_test(C05_a_renamed_file_is_on_the_wire_within_61_s),
        cmocka_unit_test(C05_a_read_error_keeps_the_last_value),
        cmocka_unit_test(C05_a_401_reads_at_once_and_a_storm_reads_once),
        cmocka_unit_test(C06_a_bad_file_never_replaces_a_good_token),
        cmocka_unit_test(C08_a_new_pair_is_told_within_one_period),
        cmocka_unit_test(C08_half_a_pair_is_told_again_once_it_fits),
        cmocka_unit_test(C08_a_cut_file_keeps_the_last_pair),
        cmocka_unit_test(C09_a_new_CA_is_told_and_a_broken_one_is_not),
        cmocka_unit_test(a_login_without_files_never_wakes),
        cmocka_unit_test(C11_fifty_401_are_one_run),
        cmocka_unit_test(C11_expiry_of_token_and_certificate_asks_for_a_run),
        cmocka_unit_test(C11_a_failing_program_is_tried_ever_less_often),
    };

    return cmocka_run_group_tests(tests, tempfolder_make, tempfolder_remove);
}
