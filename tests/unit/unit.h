/* unit.h - cmocka with the headers it needs before it; every unit test starts with this. */
#ifndef BULKHEAD_TESTS_UNIT_H
#define BULKHEAD_TESTS_UNIT_H

/* clang-format off: cmocka.h relies on these coming first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#endif
