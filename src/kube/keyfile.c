#include "kube/keyfile.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *path, bool regular, struct err *err);
static int read_all(int fd, const char *path, struct str *out, struct err *err);
static int check_token(const char *text, size_t size_bytes, struct err *err);
static int check_key(const char *text, struct err *err);

int keyfile_read(const char *path, char **ret_text, size_t *ret_size_bytes, struct err *err) {
    const int fd = open_file(path, false, err);
    struct str text;

    if (fd < 0)
        return fd;
    str_init(&text, KEYFILE_MAX_BYTES);
    const int r = read_all(fd, path, &text, err);

    close(fd);
    if (r < 0) {
        keyfile_wipe(take(text.data));
        return r;
    }
    *ret_size_bytes = text.size_bytes;
    *ret_text = text.data ? text.data : str_dup("");
    return 0;
}

int keyfile_load(const char *path, enum keyfile_kind kind, char **ret_text, struct err *err) {
    const int fd = open_file(path, true, err);
    struct str text;

    if (fd < 0)
        return fd;
    str_init(&text, KEYFILE_MAX_BYTES);
    int r = read_all(fd, path, &text, err);

    close(fd);
    if (r >= 0) {
        r = keyfile_copy(text.data ? text.data : "", text.size_bytes, kind, ret_text, err);
        if (r < 0)
            err_wrap(err, r, "%s", path);
    }
    keyfile_wipe(text.data);
    return r;
}

int keyfile_copy(const char *text, size_t size_bytes, enum keyfile_kind kind, char **ret_text,
                 struct err *err) {
    if (kind == KEYFILE_TOKEN) {
        while (size_bytes > 0 && strchr(" \t\r\n", text[size_bytes - 1]) && text[size_bytes - 1])
            size_bytes--;
        while (size_bytes > 0 && strchr(" \t\r\n", *text) && *text) {
            text++;
            size_bytes--;
        }
        const int r = check_token(text, size_bytes, err);

        if (r < 0)
            return r;
        *ret_text = str_dup_len(text, size_bytes);
        return 0;
    }
    if (memchr(text, '\0', size_bytes))
        return err_set(err, ERR_INVALID, "holds a NUL; PEM text is expected");
    char *copy = str_dup_len(text, size_bytes);
    int r = kind == KEYFILE_KEY ? check_key(copy, err) : keyfile_count(copy, err);

    if (r == 0)
        r = err_set(err, ERR_INVALID, "holds no certificate; give PEM (BEGIN CERTIFICATE)");
    if (r < 0) {
        keyfile_wipe(copy);
        return r;
    }
    *ret_text = copy;
    return 0;
}

int keyfile_count(const char *pem, struct err *err) {
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    static const char end[] = "-----END CERTIFICATE-----";
    int count = 0;

    for (const char *at = pem; (at = strstr(at, begin)); count++) {
        const char *body = at + sizeof begin - 1;
        const char *stop = strstr(body, end);
        struct str der;

        if (!stop)
            return err_set(err, ERR_INVALID, "certificate %d has no end; is it cut?", count + 1);
        str_init(&der, KEYFILE_MAX_BYTES);
        const int r = base64_decode(&der, body, (size_t)(stop - body), err);
        const bool whole = r == 0 && der.size_bytes > 0;

        str_done(&der);
        if (!whole)
            return err_set(err, ERR_INVALID, "certificate %d is not base64; is it cut?", count + 1);
        at = stop + sizeof end - 1;
    }
    return count;
}

void keyfile_wipe(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

/* Only a regular file can be read again and never makes us wait. */
static int open_file(const char *path, bool regular, struct err *err) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (regular ? O_NONBLOCK : 0));
    struct stat stat;

    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND : ERR_RETRY,
                       "%s: %m", path);
    if (fstat(fd, &stat) == 0 && !(regular ? S_ISREG(stat.st_mode) : !S_ISDIR(stat.st_mode))) {
        close(fd);
        return err_set(err, ERR_INVALID, "%s: is no file; name one", path);
    }
    return fd;
}

static int read_all(int fd, const char *path, struct str *out, struct err *err) {
    char chunk[8192];
    ssize_t got;
    int r = 0;

    while (r >= 0 && (got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            r = err_set(err, ERR_RETRY, "%s: %m", path);
            break;
        }
        r = str_add(out, chunk, (size_t)got, err);
        if (r < 0)
            err_wrap(err, r, "%s", path);
    }
    explicit_bzero(chunk, sizeof chunk);
    return r;
}

static int check_token(const char *text, size_t size_bytes, struct err *err) {
    if (size_bytes == 0)
        return err_set(err, ERR_INVALID, "is empty");
    if (size_bytes > KEYFILE_TOKEN_MAX_BYTES)
        return err_set(err, ERR_INVALID, "a token of %zu bytes; at most %zu", size_bytes,
                       KEYFILE_TOKEN_MAX_BYTES);
    for (size_t i = 0; i < size_bytes; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 127)
            return err_set(err, ERR_INVALID,
                           "a token with a blank, line break or control character in it");
    return 0;
}

/* How many keys: 1, or an error. */
static int check_key(const char *text, struct err *err) {
    const char *begin = strstr(text, "-----BEGIN ");
    const char *label = begin ? strstr(begin, "PRIVATE KEY-----") : NULL;

    if (!label || !strstr(label + 1, "PRIVATE KEY-----") || !strstr(label, "-----END "))
        return err_set(err, ERR_INVALID, "holds no whole private key; give PEM (PRIVATE KEY)");
    return 1;
}
