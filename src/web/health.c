#include "web/health.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum verdict { VERDICT_OK, VERDICT_FAILED, VERDICT_TOLD };

#define WORDS_SIZE 200

typedef enum verdict check(const struct health_facts *facts, char words[WORDS_SIZE]);

static check check_ping, check_loop, check_config, check_caches, check_shutdown, check_leader,
    check_mode, check_children;

/* In the order they are told. */
static const struct {
    const char *name;
    check *check;
    bool live;
    bool ready;
} CHECKS[] = {
    {"ping", check_ping, true, true},          {"control-loop", check_loop, true, false},
    {"config", check_config, false, true},     {"hub-caches", check_caches, false, true},
    {"shutdown", check_shutdown, false, true}, {"leader", check_leader, true, true},
    {"mode", check_mode, false, true},         {"children", check_children, false, true},
};

int64_t pulse_look(struct pulse *pulse, uint64_t turns, int64_t now_ms) {
    if (!pulse->looked_ms || turns != pulse->turns || now_ms - pulse->looked_ms > HEALTH_GAP_MS) {
        pulse->turns = turns;
        pulse->since_ms = now_ms;
    }
    pulse->looked_ms = now_ms;
    return now_ms - pulse->since_ms;
}

/* Whether query holds "name" or "name=anything" or, with a value, exactly "name=value". */
static bool asks_for(const char *query, const char *name, const char *value) {
    const size_t name_len = strlen(name);

    for (const char *p = query; *p; p += strcspn(p, "&"), p += *p == '&') {
        const size_t len = strcspn(p, "&");
        const bool named = len >= name_len && strncmp(p, name, name_len) == 0;

        if (named && !value && (len == name_len || p[name_len] == '='))
            return true;
        if (named && value && p[name_len] == '=' && len == name_len + 1 + strlen(value) &&
            strncmp(p + name_len + 1, value, strlen(value)) == 0)
            return true;
    }
    return false;
}

int health_answer(enum health_probe probe, const struct health_facts *facts, const char *name,
                  const char *query, struct str *out) {
    const char *title = probe == HEALTH_LIVE ? "healthz" : "readyz";
    struct str text;
    bool failed = false, found = false;

    str_init(&text, HEALTH_TEXT_MAX);
    for (size_t i = 0; i < sizeof CHECKS / sizeof *CHECKS; i++) {
        char words[WORDS_SIZE] = "ok";

        if (!(probe == HEALTH_LIVE ? CHECKS[i].live : CHECKS[i].ready) ||
            (*name && strcmp(name, CHECKS[i].name) != 0))
            continue;
        found = true;
        if (asks_for(query, "exclude", CHECKS[i].name)) {
            str_addf(&text, NULL, "[+]%s excluded: ok\n", CHECKS[i].name);
            continue;
        }
        const enum verdict verdict = CHECKS[i].check(facts, words);

        failed = failed || verdict == VERDICT_FAILED;
        str_addf(&text, NULL, "[%c]%s%s %s\n", verdict == VERDICT_FAILED ? '-' : '+',
                 CHECKS[i].name, verdict == VERDICT_FAILED ? " failed:" : "", words);
    }
    if (!found)
        str_addf(out, NULL, "no check is called %.100s\n", name);
    else if (failed)
        str_addf(out, NULL, "%s%s check failed\n", text.data, title);
    else if (asks_for(query, "verbose", NULL))
        str_addf(out, NULL, "%s%s check passed\n", text.data, title);
    else
        str_addf(out, NULL, "ok");
    str_done(&text);
    return !found ? 404 : failed ? 503 : 200;
}

static enum verdict check_ping(const struct health_facts *facts, char words[WORDS_SIZE]) {
    (void)facts;
    (void)words;
    return VERDICT_OK;
}

static enum verdict check_loop(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (facts->still_ms < HEALTH_STUCK_MS)
        return VERDICT_OK;
    snprintf(words, WORDS_SIZE, "the control loop has finished no turn for %lld s",
             (long long)(facts->still_ms / 1000));
    return VERDICT_FAILED;
}

/* Whoever serves has read its flags and the hub's kubeconfig: without them the process ends. */
static enum verdict check_config(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (facts->snapshot)
        return VERDICT_OK;
    snprintf(words, WORDS_SIZE, "the control loop has not finished its first turn yet");
    return VERDICT_FAILED;
}

static enum verdict check_caches(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (facts->snapshot && facts->snapshot->synced)
        return VERDICT_OK;
    snprintf(words, WORDS_SIZE, "the hub's objects have not all been listed yet");
    return VERDICT_FAILED;
}

static enum verdict check_shutdown(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (!facts->stopping)
        return VERDICT_OK;
    snprintf(words, WORDS_SIZE, "we were told to stop");
    return VERDICT_FAILED;
}

static enum verdict check_leader(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (facts->snapshot && facts->snapshot->lost)
        snprintf(words, WORDS_SIZE, "ok: the Lease was lost, and the process ends");
    else if (facts->snapshot)
        snprintf(words, WORDS_SIZE, "ok: %s",
                 facts->snapshot->leads ? "leading" : "standby: writes nothing");
    return VERDICT_TOLD;
}

static enum verdict check_mode(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (facts->snapshot)
        snprintf(words, WORDS_SIZE, "ok: %s",
                 facts->snapshot->observe ? "Observe: writes nothing" : "Act");
    return VERDICT_TOLD;
}

static enum verdict check_children(const struct health_facts *facts, char words[WORDS_SIZE]) {
    if (facts->snapshot)
        snprintf(words, WORDS_SIZE, "ok: %d of %d can be reached", facts->snapshot->children_fresh,
                 facts->snapshot->children);
    return VERDICT_TOLD;
}
