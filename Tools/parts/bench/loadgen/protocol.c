#include "protocol.h"

#include <string.h>

const struct protocol *protocol_named(const char *name) {
    if (strcmp(name, headgate_protocol.name) == 0) return &headgate_protocol;
    if (strcmp(name, redis_protocol.name) == 0) return &redis_protocol;
    return NULL;
}

bool advance(struct expectation *expectation, struct position position) {
    struct position last = expectation->last;
    if (position.major < last.major || (position.major == last.major && position.minor <= last.minor)) {
        expectation->refusal = "not stored after the one before";
        return false;
    }
    expectation->last = position;
    return true;
}

bool read_number(const char **at, const char *end, uint64_t *number) {
    const char *start = *at;
    uint64_t value = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) value = value * 10 + (uint64_t)(**at - '0');
    *number = value;
    return *at > start && *at - start < 20;
}
