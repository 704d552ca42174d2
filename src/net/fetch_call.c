#include "net/fetch_call.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

#include <assert.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#define CONTENT_TYPE_MAX_BYTES 256
#define WARNING_MAX_BYTES 4096
#define RETRY_AFTER_DIGITS_MAX 9

static int64_t deadline_of(const struct endpoint *endpoint, const struct http_request *request);
static const char *fault_of(const struct endpoint *endpoint, const struct http_request *request);
static struct curl_slist *headers_of(const struct endpoint *endpoint,
                                     const struct http_request *request);
static void set_method(struct fetch_call *call);
static void abandon(struct fetch_call *call);
static void detach(struct fetch_call *call);
static void call_free(struct fetch_call *call);
static void forget_id(struct fetch_call *call);
static bool is_repeatable(const struct fetch_call *call);
static bool is_worth_repeating(const struct fetch_call *call, CURLcode code);
static enum http_end end_of(const struct fetch_call *call, CURLcode code);
static int on_request(void *arg, char *primary_ip, char *local_ip, int primary_port,
                      int local_port);
static size_t on_header(char *bytes, size_t size, size_t count, void *arg);
static size_t on_data(char *bytes, size_t size, size_t count, void *arg);
static void on_head_line(struct fetch_call *call, const char *line, size_t len);
static void tell_head(struct fetch_call *call);
static int64_t retry_after_of(const char *value, size_t len);
static char *warning_of(const char *value, size_t len);

uint64_t fetch_call_send(struct transport *transport, const struct http_request *request,
                         const struct http_receiver *receiver) {
    struct endpoint *endpoint = (struct endpoint *)transport;
    struct fetch *fetch = endpoint->fetch;
    struct fetch_call *call = str_alloc(1, sizeof *call);
    const bool stream = request->kind == HTTP_STREAM;
    const char *fault = fault_of(endpoint, request);

    call->id = ++fetch->last_id;
    call->endpoint = endpoint;
    call->receiver = *receiver;
    call->kind = request->kind;
    call->retry_after_ms = -1;
    call->deadline_ms = deadline_of(endpoint, request);
    call->limit_bytes = request->limit_bytes ? request->limit_bytes
                        : stream             ? SIZE_MAX
                                             : HTTP_BODY_MAX_BYTES;
    DL_APPEND(endpoint->calls, call);
    HASH_ADD(hh, fetch->by_id, id, sizeof call->id, call);
    fetch_enqueue(fetch, call);
    if (fault) {
        fetch_call_end(call, HTTP_REFUSED, fault);
    } else if (HASH_COUNT(fetch->by_id) > FETCH_CALLS_MAX) {
        fetch_call_end(call, HTTP_UNSENT, "too many calls under way");
    } else {
        call->method = str_dup(request->method);
        call->url = str_printf("%s%s", endpoint->base_url, request->target);
        call->headers = headers_of(endpoint, request);
        if (request->body)
            call->body = str_dup_len(request->body, request->body_bytes);
        call->body_bytes = request->body_bytes;
    }
    return call->id;
}

void fetch_call_cancel(struct transport *transport, uint64_t id) {
    const struct endpoint *endpoint = (struct endpoint *)transport;
    struct fetch_call *call;

    HASH_FIND(hh, endpoint->fetch->by_id, &id, sizeof id, call);
    if (!call || call->endpoint != endpoint)
        return;
    fetch_call_drop(call);
}

void fetch_call_end(struct fetch_call *call, enum http_end end, const char *text) {
    if (call->state > CALL_RUNNING)
        return;
    call->state = CALL_ENDED;
    call->end = end;
    if (text != call->text)
        snprintf(call->text, sizeof call->text, "%s", text);
    fetch_enqueue(call->endpoint->fetch, call);
}

void fetch_call_drop(struct fetch_call *call) {
    struct fetch *fetch = call->endpoint->fetch;

    forget_id(call);
    call->state = CALL_DROPPED;
    fetch_enqueue(fetch, call);
}

void fetch_call_step(struct fetch_call *call) {
    const struct http_receiver receiver = call->receiver;
    struct lane *lane;

    switch (call->state) {
    case CALL_WAITING:
        detach(call); /* when it is repeated */
        lane = fetch_lane(call->endpoint, call->kind);
        fetch_lane_hold(lane, call);
        fetch_lane_admit(lane);
        return;
    case CALL_RUNNING:
        return;
    case CALL_ENDED:
        detach(call);
        forget_id(call);
        receiver.done(receiver.arg, call->end, call->text);
        break;
    case CALL_DROPPED:
        abandon(call);
        detach(call);
        break;
    }
    call_free(call);
}

void fetch_call_start(struct fetch_call *call, struct lane *lane) {
    const int64_t now_ms = clock_mono_ms(NULL);

    if (call->deadline_ms <= now_ms) {
        fetch_call_end(call, call->sent ? HTTP_TIMEOUT : HTTP_UNSENT, "no connection in time");
        return;
    }
    call->handle = fetch_endpoint_handle(call->endpoint);
    CURL *easy = call->handle->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->text);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     call->deadline_ms == INT64_MAX ? 0L : (long)(call->deadline_ms - now_ms));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    set_method(call);
    if (curl_easy_setopt(easy, CURLOPT_URL, call->url) != CURLE_OK ||
        curl_multi_add_handle(lane->multi, easy) != CURLM_OK)
        abort(); /* no memory */
    call->lane = lane;
    lane->call_count++;
    call->state = CALL_RUNNING;
}

void fetch_call_finished(struct fetch_call *call, CURLcode code) {
    const enum http_end end = end_of(call, code);

    if (call->state != CALL_RUNNING)
        return;
    if (end == HTTP_DONE)
        call->text[0] = '\0';
    else if (end == HTTP_REFUSED)
        snprintf(call->text, sizeof call->text, "the server's address is not allowed");
    else if (code == CURLE_ABORTED_BY_CALLBACK)
        snprintf(call->text, sizeof call->text, "the connection died before an answer");
    else if (call->text[0] == '\0')
        snprintf(call->text, sizeof call->text, "%s", curl_easy_strerror(code));
    if (end == HTTP_BROKEN && is_worth_repeating(call, code)) {
        call->repeated = true;
        call->state = CALL_WAITING;
        fetch_enqueue(call->endpoint->fetch, call);
        return;
    }
    /* Others need not fail one by one; but a call that gave up early says nothing about them. */
    if (end == HTTP_UNTRUSTED || end == HTTP_REFUSED ||
        (end == HTTP_UNSENT && clock_mono_ms(NULL) < call->deadline_ms))
        fetch_lane_fail_held(call->lane, end, call->text);
    fetch_call_end(call, end, call->text);
}

static int64_t deadline_of(const struct endpoint *endpoint, const struct http_request *request) {
    const int64_t timeout_ms = request->timeout_ms ? request->timeout_ms : endpoint->timeout_ms;

    if (request->kind == HTTP_STREAM && request->timeout_ms == 0)
        return INT64_MAX;
    return clock_mono_ms(NULL) + (timeout_ms < INT32_MAX ? timeout_ms : INT32_MAX);
}

/* Why a request is not sent at all, or NULL. */
static const char *fault_of(const struct endpoint *endpoint, const struct http_request *request) {
    static const char METHOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const struct identity *identity = endpoint->identity;

    if (endpoint->plain && (endpoint->authorization || identity->cert_pem))
        return "credentials do not go out over plain HTTP";
    if (request->method[0] == '\0' || request->method[strspn(request->method, METHOD)] != '\0')
        return "not a method";
    if (request->target[0] != '/' || strpbrk(request->target, " #") ||
        !fetch_is_clean(request->target))
        return "not a path with a query";
    if (strlen(request->target) > FETCH_TARGET_MAX_BYTES)
        return "the path is too long";
    if (request->body_bytes > HTTP_BODY_MAX_BYTES)
        return "the body is too large";
    if ((request->accept && !fetch_is_clean(request->accept)) ||
        (request->content_type && !fetch_is_clean(request->content_type)))
        return "a header may hold no control characters";
    return NULL;
}

bool fetch_is_clean(const char *text) {
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            return false;
    }
    return true;
}

static void add_header(struct curl_slist **list, const char *name, const char *value) {
    auto_free char *line = str_printf("%s%s", name, value);
    struct curl_slist *longer = curl_slist_append(*list, line);

    if (!longer)
        abort();
    *list = longer;
    explicit_bzero(line, strlen(line));
}

/* "Expect:" and "Content-Type:" take out what curl would add: a wait for 100 Continue, and a form's
 * type. */
static struct curl_slist *headers_of(const struct endpoint *endpoint,
                                     const struct http_request *request) {
    struct curl_slist *list = NULL;

    if (endpoint->host_header)
        add_header(&list, "Host: ", endpoint->host_header);
    if (endpoint->authorization)
        add_header(&list, "Authorization: ", endpoint->authorization);
    for (const struct curl_slist *line = endpoint->impersonate; line; line = line->next)
        add_header(&list, "", line->data);
    add_header(&list, "Accept: ", request->accept ? request->accept : "application/json");
    add_header(&list, "Expect:", "");
    add_header(&list, request->content_type ? "Content-Type: " : "Content-Type:",
               request->content_type ? request->content_type : "");
    return list;
}

static void set_method(struct fetch_call *call) {
    CURL *easy = call->handle->easy;
    const bool get = strcmp(call->method, "GET") == 0;
    const bool sends = call->body || (!get && strcmp(call->method, "DELETE") != 0);

    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L); /* whatever the handle did before */
    if (sends) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_bytes);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body ? call->body : "");
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, get && !sends ? NULL : call->method);
}

/* A silent stream is cancelled because its connection is thought dead, so no other may use it. And
 * curl keeps the reset of a stream until something else moves on its connection: on one without
 * other calls the server would go on sending for ever. */
static void abandon(struct fetch_call *call) {
    if (call->kind == HTTP_STREAM && call->lane && call->local_port)
        fetch_shut(call->lane, call->local_port,
                   fetch_lane_is_alone(call) ? 0 : call->endpoint->fetch->silent_ms);
}

/* Takes the call away from curl: an unfinished HTTP/1.1 connection is closed by it, an HTTP/2
 * stream reset. */
static void detach(struct fetch_call *call) {
    struct lane *lane = call->lane;

    if (!lane)
        return;
    curl_multi_remove_handle(lane->multi, call->handle->easy);
    fetch_lane_left(call);
    call->local_port = 0;
    lane->call_count--;
    call->lane = NULL;
    fetch_endpoint_handle_done(call->endpoint, take(call->handle));
    fetch_lane_admit(lane);
}

static void call_free(struct fetch_call *call) {
    struct endpoint *endpoint = call->endpoint;

    forget_id(call);
    fetch_lane_release(call);
    if (call->queued)
        DL_DELETE2(endpoint->fetch->queue, call, queue_prev, queue_next);
    DL_DELETE(endpoint->calls, call);
    for (struct curl_slist *line = call->headers; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    curl_slist_free_all(call->headers);
    if (call->body)
        explicit_bzero(call->body, call->body_bytes);
    free(call->body);
    free(call->method);
    free(call->url);
    free(call->content_type);
    free(call->warning);
    free(call);
}

static void forget_id(struct fetch_call *call) {
    struct fetch_call *found;

    HASH_FIND(hh, call->endpoint->fetch->by_id, &call->id, sizeof call->id, found);
    if (found)
        HASH_DEL(call->endpoint->fetch->by_id, call);
}

static bool is_repeatable(const struct fetch_call *call) {
    return strcmp(call->method, "GET") == 0;
}

/* Servers leave with GOAWAY, and on purpose: a read that got no answer by it is asked once more. */
static bool is_worth_repeating(const struct fetch_call *call, CURLcode code) {
    return !call->repeated && is_repeatable(call) && call->status == 0 &&
           (code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_GOT_NOTHING ||
            code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR);
}

/* Until a request was handed to a connection nothing of it left, so that every failure is certain.
 */
static enum http_end end_of(const struct fetch_call *call, CURLcode code) {
    const bool sent = call->sent;

    switch (code) {
    case CURLE_OK:
        return call->head_told ? HTTP_DONE : HTTP_BROKEN;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return sent ? HTTP_BROKEN : HTTP_UNTRUSTED;
    case CURLE_OPERATION_TIMEDOUT:
        return sent ? HTTP_TIMEOUT : HTTP_UNSENT;
    case CURLE_COULDNT_CONNECT:
        if (!sent && call->forbidden && !call->dialled)
            return HTTP_REFUSED;
        return sent ? HTTP_BROKEN : HTTP_UNSENT;
    default:
        return sent ? HTTP_BROKEN : HTTP_UNSENT;
    }
}

/* curl is about to send. It comes here a second time when a connection that it reused died before
 * an answer and it tries a new one: a read may be repeated, but a write may have been carried out,
 * since curl does not tell a refused stream from a broken connection. */
static int on_request(void *arg, char *primary_ip, char *local_ip, int primary_port,
                      int local_port) {
    struct fetch_call *call = arg;

    (void)primary_ip;
    (void)local_ip;
    (void)primary_port;
    if (call->state != CALL_RUNNING || (call->sent && !is_repeatable(call)))
        return CURL_PREREQFUNC_ABORT;
    call->sent = true;
    fetch_lane_sent(call, local_port);
    return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg) {
    struct fetch_call *call = arg;
    size_t len = size * count;

    if (call->state != CALL_RUNNING || call->head_told)
        return size * count;
    while (len > 0 && (bytes[len - 1] == '\r' || bytes[len - 1] == '\n' || bytes[len - 1] == ' '))
        len--;
    if (len > 0)
        on_head_line(call, bytes, len);
    else if (call->status >= 200)
        tell_head(call);
    return size * count;
}

/* Once the call has ended or was cancelled, what still comes is swallowed: the loop takes it out.
 */
static size_t on_data(char *bytes, size_t size, size_t count, void *arg) {
    struct fetch_call *call = arg;
    const size_t size_bytes = size * count;

    if (call->state != CALL_RUNNING)
        return size_bytes;
    if (size_bytes > call->limit_bytes - call->got_bytes) {
        fetch_call_end(call, HTTP_TOO_LARGE, "the answer is too large");
        return size_bytes;
    }
    call->got_bytes += size_bytes;
    call->receiver.data(call->receiver.arg, bytes, size_bytes);
    return size_bytes;
}

/* The value of a header line if it has this name, NULL otherwise. */
static const char *value_of(const char *line, size_t len, const char *name, size_t *ret_len) {
    const size_t name_len = strlen(name);
    size_t at = name_len + 1;

    if (len < at || strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
        return NULL;
    while (at < len && (line[at] == ' ' || line[at] == '\t'))
        at++;
    *ret_len = len - at;
    return line + at;
}

/* A new status line starts over: an interim answer came before. */
static void on_head_line(struct fetch_call *call, const char *line, size_t len) {
    const char *value;
    size_t value_len;

    if (len > 5 && strncmp(line, "HTTP/", 5) == 0) {
        const char *code = memchr(line, ' ', len);

        call->status = 0;
        call->retry_after_ms = -1;
        for (int i = 1; code && i <= 3 && code + i < line + len && isdigit((unsigned char)code[i]);
             i++)
            call->status = call->status * 10 + (code[i] - '0');
    } else if ((value = value_of(line, len, "content-type", &value_len))) {
        free(call->content_type);
        call->content_type = str_dup_len(
            value, value_len < CONTENT_TYPE_MAX_BYTES ? value_len : CONTENT_TYPE_MAX_BYTES);
    } else if ((value = value_of(line, len, "retry-after", &value_len))) {
        call->retry_after_ms = retry_after_of(value, value_len);
    } else if (!call->warning && (value = value_of(line, len, "warning", &value_len))) {
        call->warning = warning_of(value, value_len);
    }
}

static void tell_head(struct fetch_call *call) {
    const struct http_receiver receiver = call->receiver;
    const struct http_head head = {
        .status = call->status,
        .retry_after_ms = call->retry_after_ms,
        .content_type = call->content_type ? call->content_type : "",
        .warning = call->warning ? call->warning : "",
    };

    call->head_told = true;
    if (receiver.head)
        receiver.head(receiver.arg, &head);
}

/* Whole seconds only: a date says nothing without the server's clock. -1 for anything else. */
static int64_t retry_after_of(const char *value, size_t len) {
    int64_t seconds = 0;

    if (len == 0 || len > RETRY_AFTER_DIGITS_MAX)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)value[i]))
            return -1;
        seconds = seconds * 10 + (value[i] - '0');
    }
    return seconds * 1000;
}

/* 299 - "text": what is between the quotes, without their escapes; without quotes all of it. */
static char *warning_of(const char *value, size_t len) {
    const char *end = value + (len < WARNING_MAX_BYTES ? len : WARNING_MAX_BYTES);
    const char *quote = memchr(value, '"', (size_t)(end - value));
    char *text = str_alloc((size_t)(end - value) + 1, 1);
    size_t out = 0;

    for (const char *p = quote ? quote + 1 : value; p < end && !(quote && *p == '"'); p++) {
        if (quote && *p == '\\' && p + 1 < end)
            p++;
        text[out++] = *p;
    }
    return text;
}
