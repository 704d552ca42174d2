/* tempfolder.h - files for tests of what is read from disk; include after unit.h. */
#ifndef BULKHEAD_TESTS_UNIT_KUBE_TEMPFOLDER_H
#define BULKHEAD_TESTS_UNIT_KUBE_TEMPFOLDER_H

#include "base/str.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CERT_A "-----BEGIN CERTIFICATE-----\nQUFBQQ==\n-----END CERTIFICATE-----\n"
#define CERT_B "-----BEGIN CERTIFICATE-----\nQkJCQg==\n-----END CERTIFICATE-----\n"
#define KEY_A "-----BEGIN PRIVATE KEY-----\nYWFh\n-----END PRIVATE KEY-----\n"
#define KEY_B "-----BEGIN PRIVATE KEY-----\nYmJi\n-----END PRIVATE KEY-----\n"

static char tempfolder[32];

static inline int tempfolder_make(void **state) {
    (void)state;
    snprintf(tempfolder, sizeof tempfolder, "/tmp/kube.XXXXXX");
    return mkdtemp(tempfolder) ? 0 : -1;
}

static inline int tempfolder_unlink(const char *path, const struct stat *stat, int flag,
                                    struct FTW *ftw) {
    (void)stat;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline int tempfolder_remove(void **state) {
    (void)state;
    return nftw(tempfolder, tempfolder_unlink, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of a file in it; valid until the program ends, for up to 32 names. */
static inline const char *tempfolder_path(const char *name) {
    static char paths[32][256];
    char path[256];
    size_t i = 0;

    snprintf(path, sizeof path, "%s/%s", tempfolder, name);
    while (paths[i][0] && strcmp(paths[i], path) != 0) {
        i++;
        assert_true(i < sizeof paths / sizeof paths[0]);
    }
    memcpy(paths[i], path, sizeof path);
    return paths[i];
}

/* Writes a file as the kubelet does: aside, then renamed over the old one. */
static inline const char *tempfolder_put_bytes(const char *name, const void *bytes, size_t size) {
    const char *aside = tempfolder_path("aside.tmp");
    const char *path = tempfolder_path(name);
    FILE *file = fopen(aside, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(aside, path), 0);
    return path;
}

static inline const char *tempfolder_put(const char *name, const char *text) {
    return tempfolder_put_bytes(name, text, strlen(text));
}

#endif
