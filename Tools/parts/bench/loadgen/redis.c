#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "protocol.h"

static void prepare(struct template *template, size_t size, bool with_id) {
    size_t event = event_size(size);
    int frame = snprintf(template->bytes, sizeof template->bytes,
                         "*5\r\n$4\r\nXADD\r\n$6\r\nevents\r\n$1\r\n*\r\n$1\r\nd\r\n$%zu\r\n", event);
    template->length = (size_t)frame + event + 2;
    if (template->length > sizeof template->bytes) fault("--size is too large");
    event_write(template->bytes + frame, event, with_id);
    memcpy(template->bytes + template->length - 2, "\r\n", 2);
    template_find_slots(template);
}

static bool read_literal(const char **at, const char *end, const char *literal) {
    size_t length = strlen(literal);
    if ((size_t)(end - *at) < length || memcmp(*at, literal, length) != 0) return false;
    *at += length;
    return true;
}

/// `$15\r\n` has been found to be a whole line; the id's line `1700000000000-0\r\n` must be as long as it says.
static bool read_entry_id(const char **at, const char *end, struct position *position) {
    uint64_t length;
    if (!read_literal(at, end, "$") || !read_number(at, end, &length) || !read_literal(at, end, "\r\n")) return false;
    const char *start = *at;
    return read_number(at, end, &position->major) && read_literal(at, end, "-") &&
           read_number(at, end, &position->minor) && (uint64_t)(*at - start) == length && read_literal(at, end, "\r\n");
}

static ptrdiff_t accept_answer(const char *bytes, size_t length, struct expectation *expectation) {
    const char *end = memchr(bytes, '\n', length);
    if (end && *bytes == '-') {
        expectation->refusal = "an error";
        return -1;
    }
    if (end) end = memchr(end + 1, '\n', length - (size_t)(end + 1 - bytes));
    if (!end) return 0;
    const char *at = bytes;
    struct position position;
    if (!read_entry_id(&at, end + 1, &position)) {
        expectation->refusal = "not an acknowledgement";
        return -1;
    }
    return advance(expectation, position) ? at - bytes : -1;
}

const struct protocol redis_protocol = {.name = "redis", .prepare = prepare, .accept = accept_answer};
