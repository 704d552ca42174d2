#include "kube/incluster.h"

#include "unit.h"

#include "kube/kubeconfig.h"
#include "net/fetch.h"
#include "tempfolder.h"

static void fill(void) {
    tempfolder_put("token", "tok\n");
    tempfolder_put("ca.crt", CERT_A CERT_B);
    tempfolder_put("namespace", "bulkhead-system");
}

static int login_to(const char *host, const char *port, struct kubeconfig_login *ret_login,
                    struct err *err) {
    return incluster_login(host, port, tempfolder, ret_login, err);
}

static void C07_url_of_names_and_of_both_families(void **state) {
    static const char *const rows[][3] = {
        {"10.96.0.1", "443", "https://10.96.0.1:443"},
        {"fd00::1", "443", "https://[fd00::1]:443"},
        {"::ffff:10.0.0.1", "6443", "https://[::ffff:10.0.0.1]:6443"},
        {"kubernetes.default.svc", "65535", "https://kubernetes.default.svc:65535"},
    };

    (void)state;
    fill();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kubeconfig_login login = {0};
        struct fetch_endpoint endpoint;
        struct err err = {0};

        if (login_to(rows[i][0], rows[i][1], &login, &err) < 0)
            fail_msg("%s", err.msg);
        kubeconfig_endpoint(&login, &endpoint);
        assert_string_equal(endpoint.url, rows[i][2]);
        assert_string_equal(endpoint.token, "tok");
        assert_string_equal(endpoint.ca_pem, CERT_A CERT_B);
        assert_string_equal(login.ns, "bulkhead-system");
        assert_string_equal(login.token_file, tempfolder_path("token"));
        assert_string_equal(login.ca_file, tempfolder_path("ca.crt"));
        kubeconfig_login_done(&login);
    }
}

static void C07_values_that_make_no_url_are_refused(void **state) {
    static const struct {
        const char *host;
        const char *port;
        int code;
    } rows[] = {
        {NULL, "443", ERR_NOTFOUND},
        {"", "443", ERR_NOTFOUND},
        {"h", NULL, ERR_NOTFOUND},
        {"h", "", ERR_NOTFOUND},
        {"h/x", "443", ERR_INVALID},
        {"a@h", "443", ERR_INVALID},
        {"h h", "443", ERR_INVALID},
        {"fd00::1]", "443", ERR_INVALID},
        {"fd00::g", "443", ERR_INVALID},
        {"h", "0", ERR_INVALID},
        {"h", "65536", ERR_INVALID},
        {"h", "443x", ERR_INVALID},
        {"h", "-1", ERR_INVALID},
        {"h", "tcp://10.0.0.1:443", ERR_INVALID},
        {"h", "99999999999999", ERR_INVALID},
    };

    (void)state;
    fill();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kubeconfig_login login = {0};
        struct err err = {0};

        assert_int_equal(login_to(rows[i].host, rows[i].port, &login, &err), rows[i].code);
        assert_non_null(strstr(err.msg, "KUBERNETES_SERVICE_"));
        assert_null(login.url);
    }
}

static void C07_files_that_are_absent_or_broken(void **state) {
    struct kubeconfig_login login = {0};
    struct err err = {0};

    (void)state;
    fill();
    unlink(tempfolder_path("namespace"));
    unlink(tempfolder_path("ca.crt"));
    assert_int_equal(login_to("h", "1", &login, &err), 0);
    assert_null(login.ns);
    assert_null(login.ca_pem); /* the system's store, and the file is watched for */
    assert_non_null(login.ca_file);
    assert_false(login.insecure);
    kubeconfig_login_done(&login);
    tempfolder_put("ca.crt", "");
    assert_int_equal(login_to("h", "1", &login, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "ca.crt"));
    fill();
    tempfolder_put("token", "");
    assert_int_equal(login_to("h", "1", &login, &err), ERR_INVALID);
    unlink(tempfolder_path("token"));
    assert_int_equal(login_to("h", "1", &login, &err), ERR_NOTFOUND);
    assert_non_null(strstr(err.msg, "token"));
    assert_null(login.url);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C07_url_of_names_and_of_both_families),
        cmocka_unit_test(C07_values_that_make_no_url_are_refused),
        cmocka_unit_test(C07_files_that_are_absent_or_broken),
    };

    return cmocka_run_group_tests(tests, tempfolder_make, tempfolder_remove);
}
