#include <string.h>

#include "fault.h"
#include "protocol.h"

static const char opening[] = "{\"jsonrpc\":\"2.0\",\"id\":" NUMBER_SLOT ",\"method\":\"track\",\"params\":";
static const char closing[] = "}\n";
static const char many_opening[] =
    "{\"jsonrpc\":\"2.0\",\"id\":" NUMBER_SLOT ",\"method\":\"track_many\",\"params\":{\"events\":[";
static const char many_closing[] = "]}}\n";
enum { FRAME_SIZE = sizeof opening + sizeof closing - 2 };

size_t event_size(size_t size) {
    if (size <= FRAME_SIZE) fault("--size is too small");
    return size - FRAME_SIZE;
}

static void prepare(struct template *template, const struct options *options) {
    const bool is_one = options->events == 1;
    const size_t size = event_size(options->size);
    if (options->events * (size + 1) + sizeof many_opening + sizeof many_closing > REQUEST_LIMIT)
        fault("--size is too large for the number of --events");
    char *out = stpcpy(template->bytes, is_one ? opening : many_opening);
    for (unsigned index = 0; index < options->events; index++) {
        if (index > 0) *out++ = ',';
        event_write(out, size, options->ids, options->noise);
        out += size;
    }
    out = stpcpy(out, is_one ? closing : many_closing);
    template->length = (size_t)(out - template->bytes);
    template_find_slots(template);
}

/// The relevant members of an answer.
struct answer {
    bool has_result, has_id, has_seq, has_first;
    /// For one event only `seq`.
    uint64_t id, first_seq, seq;
    const char *refusal;
};

static bool is_key(const char *key, size_t length, const char *name) {
    return length == strlen(name) && memcmp(key, name, length) == 0;
}

/// Records one member of an answer, whose value starts at `value`. The request's id is a number, an event's a string.
static void note(struct answer *answer, const char *key, size_t length, const char *value, const char *end) {
    while (value < end && *value == ' ') value++;
    if (is_key(key, length, "id") && *value != '"') {
        answer->has_id = read_number(&value, end, &answer->id);
    } else if (is_key(key, length, "seq")) {
        answer->has_first = answer->has_seq = read_number(&value, end, &answer->seq);
        answer->first_seq = answer->seq;
    } else if (is_key(key, length, "first_seq")) {
        answer->has_first = read_number(&value, end, &answer->first_seq);
    } else if (is_key(key, length, "last_seq")) {
        answer->has_seq = read_number(&value, end, &answer->seq);
    } else if (is_key(key, length, "result")) {
        answer->has_result = true;
    } else if (is_key(key, length, "error")) {
        answer->refusal = "an error";
    } else if (value < end && *value == '0') {
        // No event of `track_many` may be a duplicate or unrouted.
    } else if (is_key(key, length, "duplicate") || is_key(key, length, "duplicates")) {
        answer->refusal = "taken for a duplicate";
    } else if (is_key(key, length, "unrouted")) {
        answer->refusal = "not stored: no dispatcher wants it";
    } else if (is_key(key, length, "method")) {
        answer->refusal = "not an answer";
    }
}

/// Visits every key of the line, at any depth. An acknowledgement has no escaped characters, so a quote ends a string.
static struct answer read_answer(const char *at, const char *end) {
    struct answer answer = {0};
    while (!answer.refusal && (at = memchr(at, '"', (size_t)(end - at)))) {
        const char *key = at + 1;
        const char *close = memchr(key, '"', (size_t)(end - key));
        if (!close) break;
        at = close + 1;
        if (at + 1 < end && *at == ':') note(&answer, key, (size_t)(close - key), at + 1, end);
    }
    return answer;
}

static ptrdiff_t accept_answer(const char *bytes, size_t length, struct expectation *expectation) {
    const char *end = memchr(bytes, '\n', length);
    if (!end) return 0;
    struct answer answer = read_answer(bytes, end);
    expectation->refusal = answer.refusal;
    if (answer.refusal) return -1;
    if (!answer.has_result || !answer.has_id || !answer.has_first || !answer.has_seq) {
        expectation->refusal = "not an acknowledgement";
        return -1;
    }
    if (answer.id != expectation->number) {
        expectation->refusal = "to another request";
        return -1;
    }
    if (!advance(expectation, (struct position){.major = answer.first_seq})) return -1;
    if (answer.seq != answer.first_seq + expectation->events - 1) {
        expectation->refusal = "of another number of events";
        return -1;
    }
    expectation->last.major = answer.seq;
    return end + 1 - bytes;
}

const struct protocol headgate_protocol = {.name = "headgate", .prepare = prepare, .accept = accept_answer};
