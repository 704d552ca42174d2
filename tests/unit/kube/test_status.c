#include "kube/status.h"

#include "unit.h"

/* clang-format off */
static const struct {
    int code;
    const char *reason;
    enum status_action want;
} ROWS[] = {
    {401, "Unauthorized", STATUS_LOGIN},            {403, "Forbidden", STATUS_REPORT},
    {404, "NotFound", STATUS_GONE},                 {409, "AlreadyExists", STATUS_READ_AGAIN},
    {409, "Conflict", STATUS_READ_AGAIN},           {410, "Gone", STATUS_RELIST},
    {410, "Expired", STATUS_RELIST},                {422, "Invalid", STATUS_REPORT},
    {400, "BadRequest", STATUS_REPORT},             {405, "MethodNotAllowed", STATUS_REPORT},
    {406, "NotAcceptable", STATUS_REPORT},          {413, "RequestEntityTooLarge", STATUS_REPORT},
    {415, "UnsupportedMediaType", STATUS_REPORT},   {500, "ServerTimeout", STATUS_BACKOFF},
    {504, "Timeout", STATUS_BACKOFF},               {429, "TooManyRequests", STATUS_BACKOFF},
    {500, "InternalError", STATUS_BACKOFF},         {503, "ServiceUnavailable", STATUS_BACKOFF},
    {500, "StoreReadError", STATUS_BACKOFF},
};
/* clang-format on */

static void C26_every_reason_has_an_action(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        assert_int_equal(status_action(ROWS[i].code, ROWS[i].reason), ROWS[i].want);
        assert_int_equal(status_action(0, ROWS[i].reason), ROWS[i].want); /* the reason leads */
        assert_int_equal(status_action(ROWS[i].code, NULL), ROWS[i].want);
        assert_int_equal(status_action(ROWS[i].code, "SomethingNew"), ROWS[i].want);
    }
}

static void C22_only_429_and_5xx_with_a_wait_are_resent(void **state) {
    (void)state;
    for (int code = 0; code < 700; code++) {
        for (int count = 0; count < 13; count++) {
            int64_t wait_ms = -7;
            const bool want = (code == 429 || code / 100 == 5) && count < 10;

            assert_int_equal(status_resend(code, 3000, count, &wait_ms), want);
            assert_int_equal(wait_ms, want ? 3000 : -7);
            assert_false(status_resend(code, -1, count, &wait_ms));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C22_only_429_and_5xx_with_a_wait_are_resent),
        cmocka_unit_test(C26_every_reason_has_an_action),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
