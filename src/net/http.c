#include "net/http.h"

uint64_t transport_send(struct transport *transport, const struct http_request *request,
                        const struct http_receiver *receiver) {
    return transport->ops->send(transport, request, receiver);
}

void transport_cancel(struct transport *transport, uint64_t id) {
    if (id)
        transport->ops->cancel(transport, id);
}

void transport_free(struct transport *transport) {
    if (transport)
        transport->ops->free(transport);
}

void http_answer(struct http_reply *reply, int status, const char *content_type, const char *bytes,
                 size_t size_bytes) {
    reply->ops->head(reply, status, content_type, NULL);
    if (size_bytes)
        reply->ops->data(reply, bytes, size_bytes);
    reply->ops->end(reply);
}
