#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "protocol.h"

static size_t append(struct template *template, const char *text, size_t length) {
    if (template->length + length > sizeof template->bytes) fault("--size is too large");
    memcpy(template->bytes + template->length, text, length);
    return template->length += length;
}

static void append_text(struct template *template, const char *text) {
    append(template, text, strlen(text));
}

static void append_entry(struct template *template, const struct options *options) {
    static char event[REQUEST_LIMIT];
    size_t size = event_size(options->size);
    char frame[128];
    snprintf(frame, sizeof frame, "*5\r\n$4\r\nXADD\r\n$6\r\nevents\r\n$1\r\n*\r\n$1\r\nd\r\n$%zu\r\n", size);
    append_text(template, frame);
    if (size > sizeof event) fault("--size is too large");
    event_write(event, size, options->ids, options->noise);
    append(template, event, size);
    append_text(template, "\r\n");
}

/// Several events are one transaction: stored together, and synced once.
static void prepare(struct template *template, const struct options *options) {
    if (options->events > 1) append_text(template, "*1\r\n$5\r\nMULTI\r\n");
    for (unsigned index = 0; index < options->events; index++) append_entry(template, options);
    if (options->events > 1) append_text(template, "*1\r\n$4\r\nEXEC\r\n");
    template_find_slots(template);
}

static bool read_literal(const char **at, const char *end, const char *literal) {
    size_t length = strlen(literal);
    if ((size_t)(end - *at) < length || memcmp(*at, literal, length) != 0) return false;
    *at += length;
    return true;
}

/// The line `$15\r\n` is complete. The id's line `1700000000000-0\r\n` must have the length that it gives.
static bool read_entry_id(const char **at, const char *end, struct position *position) {
    uint64_t length;
    if (!read_literal(at, end, "$") || !read_number(at, end, &length) || !read_literal(at, end, "\r\n")) return false;
    const char *start = *at;
    return read_number(at, end, &position->major) && read_literal(at, end, "-") &&
           read_number(at, end, &position->minor) && (uint64_t)(*at - start) == length && read_literal(at, end, "\r\n");
}

/// Skips lines. Returns NULL if they are incomplete.
static const char *skip_lines(const char *at, const char *end, unsigned count) {
    for (; count > 0 && at; count--) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at) at++;
    }
    return at;
}

/// The text before the answers to the commands of a transaction.
static bool read_transaction(const char **at, const char *end, unsigned events) {
    if (!read_literal(at, end, "+OK\r\n")) return false;
    for (unsigned index = 0; index < events; index++)
        if (!read_literal(at, end, "+QUEUED\r\n")) return false;
    uint64_t count;
    return read_literal(at, end, "*") && read_number(at, end, &count) && count == events && read_literal(at, end, "\r\n");
}

static ptrdiff_t accept_answer(const char *bytes, size_t length, struct expectation *expectation) {
    unsigned events = expectation->events;
    if (length > 0 && *bytes == '-' && memchr(bytes, '\n', length)) {
        expectation->refusal = "an error";
        return -1;
    }
    const char *end = skip_lines(bytes, bytes + length, 2 * events + (events > 1 ? events + 2 : 0));
    if (!end) return 0;
    const char *at = bytes;
    bool is_right = events == 1 || read_transaction(&at, end, events);
    for (unsigned index = 0; index < events && is_right; index++) {
        struct position position;
        is_right = read_entry_id(&at, end, &position);
        if (is_right && !advance(expectation, position)) return -1;
    }
    if (is_right) return at - bytes;
    expectation->refusal = "not an acknowledgement";
    return -1;
}

const struct protocol redis_protocol = {.name = "redis", .prepare = prepare, .accept = accept_answer};
