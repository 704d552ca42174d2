#include "base/base64.h"
#include "base/jsonwrite.h"
#include "kube/keyfile.h"
#include "kube/kubeconfig.h"

#include <string.h>

/* YAML in which every value is JSON text: quoting has one rule, whatever a name looks like. */
struct writer {
    struct str *out;
    struct err *err;
    int code; /* of the first failure */
};

static void put(struct writer *writer, const char *key, const char *text) {
    struct jsonwrite json;

    if (writer->code < 0 || !text)
        return;
    writer->code = str_add(writer->out, key, strlen(key), writer->err);
    if (writer->code < 0)
        return;
    jsonwrite_init(&json, writer->out);
    jsonwrite_text(&json, text);
    writer->code = jsonwrite_finish(&json, writer->err);
    if (writer->code >= 0)
        writer->code = str_add(writer->out, "\n", 1, writer->err);
}

static void put_data(struct writer *writer, const char *key, const char *pem) {
    if (writer->code < 0 || !pem)
        return;
    writer->code = str_add(writer->out, key, strlen(key), writer->err);
    if (writer->code >= 0)
        writer->code = base64_encode(writer->out, pem, strlen(pem), writer->err);
    if (writer->code >= 0)
        writer->code = str_add(writer->out, "\n", 1, writer->err);
}

static void put_line(struct writer *writer, const char *line) {
    if (writer->code >= 0)
        writer->code = str_add(writer->out, line, strlen(line), writer->err);
}

int kubeconfig_write(struct str *out, const struct kubeconfig_output *output, struct err *err) {
    const size_t start_bytes = out->size_bytes;
    struct writer writer = {.out = out, .err = err};

    if (!output->name || !output->name[0] || !output->server || !output->server[0])
        return err_set(err, ERR_INVALID, "a kubeconfig needs a name and a server");
    if (!output->cert_pem != !output->key_pem || (output->token && output->cert_pem))
        return err_set(err, ERR_INVALID, "give a token, or a certificate with its key");
    put_line(&writer, "apiVersion: v1\nkind: Config\nclusters:\n");
    put(&writer, "- name: ", output->name);
    put_line(&writer, "  cluster:\n");
    put(&writer, "    server: ", output->server);
    put_data(&writer, "    certificate-authority-data: ", output->ca_pem);
    put_line(&writer, "users:\n");
    put(&writer, "- name: ", output->name);
    put_line(&writer, output->token || output->cert_pem ? "  user:\n" : "  user: {}\n");
    put(&writer, "    token: ", output->token);
    put_data(&writer, "    client-certificate-data: ", output->cert_pem);
    put_data(&writer, "    client-key-data: ", output->key_pem);
    put_line(&writer, "contexts:\n");
    put(&writer, "- name: ", output->name);
    put_line(&writer, "  context:\n");
    put(&writer, "    cluster: ", output->name);
    put(&writer, "    user: ", output->name);
    put(&writer, "    namespace: ", output->ns);
    put(&writer, "current-context: ", output->name);
    if (writer.code < 0 && out->data) {
        explicit_bzero(out->data + start_bytes, out->size_bytes - start_bytes);
        out->size_bytes = start_bytes;
    }
    return writer.code;
}
