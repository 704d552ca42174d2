#include "api/intorpercent.h"

#include "base/auto.h"

#include <ctype.h>

static int refused(const json_t *value, struct err *err) {
    auto_free char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return err_set(err, ERR_INVALID,
                   "%.60s is neither a number nor a percentage: write a whole number such as 3, "
                   "or whole percents in quotes such as \"25%%\"",
                   shown ? shown : "the value");
}

/* "0%" to "100%", no sign, no leading zero. */
static int percent_read(const char *text, int32_t *ret) {
    int32_t percent = 0;
    const char *p = text;

    for (; isdigit((unsigned char)*p) && p - text < 3; p++)
        percent = percent * 10 + (*p - '0');
    if (p == text || *p != '%' || p[1] || percent > 100 || (*text == '0' && p - text > 1))
        return ERR_INVALID;
    *ret = percent;
    return 0;
}

int intorpercent_parse(const json_t *value, struct intorpercent *ret_value, struct err *err) {
    int32_t percent;

    if (json_is_integer(value)) {
        json_int_t count = json_integer_value(value);

        if (count < 0 || count > INT32_MAX)
            return refused(value, err);
        *ret_value = (struct intorpercent){.value = (int32_t)count};
        return 0;
    }
    if (!json_is_string(value) || percent_read(json_string_value(value), &percent) < 0)
        return refused(value, err);
    *ret_value = (struct intorpercent){.percent = true, .value = percent};
    return 0;
}

int32_t intorpercent_of(struct intorpercent value, int32_t replicas, bool round_up) {
    if (!value.percent)
        return value.value;
    return (int32_t)(((int64_t)replicas * value.value + (round_up ? 99 : 0)) / 100);
}

void intorpercent_rollout(struct intorpercent surge, struct intorpercent unavailable,
                          int32_t replicas, int32_t *ret_surge, int32_t *ret_unavailable) {
    *ret_surge = intorpercent_of(surge, replicas, true);
    *ret_unavailable = intorpercent_of(unavailable, replicas, false);
    if (*ret_surge == 0 && *ret_unavailable == 0)
        *ret_unavailable = 1;
}
