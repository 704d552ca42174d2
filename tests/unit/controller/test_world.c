/* What the world remembers has a bound, and goes with what it is about. */
#include "controller/world_state.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define REFUSALS 200000

static struct clock hands;
static struct world *world;

static int open_world(void **state) {
    const struct world_options options = {.clock = &hands, .ns = "bulkhead-system"};

    (void)state;
    world = world_new(&options, NULL);
    return 0;
}

static int close_world(void **state) {
    (void)state;
    world_free(world);
    return 0;
}

static void refusals_go_with_their_app(void **state) {
    (void)state;
    world_refusal_set(world, "app/retail/checkout", PLAN_HUB, "no");
    world_refusal_set(world, "cells/retail/checkout", WORLD_OWN_WORDS, "no ConfigMap");
    world_refusal_set(world, "cells/retail/checkout2", WORLD_OWN_WORDS, "of another");
    world_refusals_forget(world, "retail", "checkout");
    assert_null(world_refusal(world, "app/retail/checkout", PLAN_HUB));
    assert_null(world_refusal(world, "cells/retail/checkout", WORLD_OWN_WORDS));
    assert_string_equal(world_refusal(world, "cells/retail/checkout2", WORLD_OWN_WORDS),
                        "of another");
}

static void refusals_have_a_bound(void **state) {
    char key[64];

    (void)state;
    for (int i = 0; i <= REFUSALS; i++) {
        snprintf(key, sizeof key, "app/retail/a%d", i);
        world_refusal_set(world, key, PLAN_HUB, "no");
    }
    assert_int_equal(HASH_COUNT(world->refusals), REFUSALS);
    world_refusal_set(world, "app/retail/a0", PLAN_HUB, "still no");
    assert_string_equal(world_refusal(world, "app/retail/a0", PLAN_HUB), "still no");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refusals_go_with_their_app, open_world, close_world),
        cmocka_unit_test_setup_teardown(refusals_have_a_bound, open_world, close_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
