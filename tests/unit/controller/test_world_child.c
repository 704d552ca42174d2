/* A child's Secret: what cannot be read changes nothing and says why. */
#include "controller/world_state.h"

#include "base/str.h"

#include "unit.h"

static struct clock hands;

static void a_broken_secret_keeps_the_last_kubeconfig(void **state) {
    static const char *const broken[] = {"{\"data\":{\"kubeconfig\":\"QUJDRA==QUJDRA==\"}}",
                                         "{\"data\":{\"kubeconfig\":\"QUJD*\"}}",
                                         "{\"data\":{\"kubeconfig\":7}}",
                                         "{\"data\":[]}",
                                         "[1]",
                                         "no JSON"};
    const struct world_options options = {.clock = &hands, .ns = "bulkhead-system"};
    struct world *world = world_new(&options, NULL);
    struct child *child = world_child_add(world, "cls-a");
    const char good[] = "{\"data\":{\"kubeconfig\":\"QUJDRA==\"}}";

    (void)state;
    child->spec.secret = str_dup("cls-a");
    child->spec.secret_key = str_dup("kubeconfig");
    world_child_secret(world, child, good, sizeof good - 1, 1000);
    assert_string_equal(child->kubeconfig, "ABCD");
    assert_true(child->kubeconfig_new);
    child->kubeconfig_new = false;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        child->fault = (struct err){0};
        world_child_secret(world, child, broken[i], strlen(broken[i]), 2000);
        assert_string_equal(child->kubeconfig, "ABCD");
        assert_false(child->kubeconfig_new);
        assert_true(child->fault.code < 0);
    }
    world_free(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_secret_keeps_the_last_kubeconfig),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
