#include "base/sha256.h"
#include "base/str.h"

#include "unit.h"

#include <stdio.h>

static void expect(const void *data, size_t size_bytes, const char *want) {
    uint8_t digest[SHA256_SIZE_BYTES];
    char hex[2 * SHA256_SIZE_BYTES + 1];

    sha256(data, size_bytes, digest);
    for (size_t i = 0; i < SHA256_SIZE_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, want);
}

/* The examples of FIPS 180-4 and of NIST's test page. */
static void sha256_of_the_nist_vectors(void **state) {
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char *million_a = str_alloc(1000000, 1);

    (void)state;
    expect(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(two_blocks, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(million_a, 'a', 1000000);
    expect(million_a, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million_a);
}

/* Every length through four padding shapes; the sum was computed with Python's hashlib. */
static void sha256_of_every_short_length(void **state) {
    static uint8_t digests[301 * SHA256_SIZE_BYTES];
    uint8_t data[301];

    (void)state;
    for (size_t size = 0; size <= 300; size++) {
        for (size_t i = 0; i < size; i++)
            data[i] = (uint8_t)(i * 7 + size);
        sha256(data, size, digests + size * SHA256_SIZE_BYTES);
    }
    expect(digests, sizeof(digests),
           "60d63ff40b5558727a9b786ac0be9300f7ca58fd9ddd3b2f3681b369018a87dc");
}

static void sha256_name_suffix_is_8_hex(void **state) {
    char suffix[9];

    (void)state;
    sha256_name_suffix("abc", suffix);
    assert_string_equal(suffix, "ba7816bf");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_of_the_nist_vectors),
        cmocka_unit_test(sha256_of_every_short_length),
        cmocka_unit_test(sha256_name_suffix_is_8_hex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
