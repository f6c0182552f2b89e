#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// Longest request, framing included.
    REQUEST_LIMIT = 65536,
    /// Most events in one request.
    EVENTS_LIMIT = 128,
    /// Every number in a request has so many digits, so that all requests have one length.
    NUMBER_DIGITS = 10,
    UUID_LENGTH = 36,
};

/// What stands in a template where each request has its own number and its own id.
#define NUMBER_SLOT "@@@@@@@@@@"
#define UUID_SLOT "####################################"
/// So that each request has its own text as well, which nothing packs: one of these, and as many letters as there is room for.
#define NOISE_MARK '~'

/// The first request's number: the least with `NUMBER_DIGITS` digits.
#define FIRST_NUMBER UINT64_C(1000000000)

/// A request rendered once, with the places that differ from request to request.
struct template {
    char bytes[REQUEST_LIMIT];
    size_t length;
    size_t numbers_at[EVENTS_LIMIT + 1];
    size_t number_count;
    size_t uuids_at[EVENTS_LIMIT];
    size_t uuid_count;
    size_t noise_at[EVENTS_LIMIT];
    size_t noise_count;
    /// Of each of them.
    size_t noise_length;
};

/// Finds the slots in `bytes[0..<length]`.
void template_find_slots(struct template *template);

/// Writes the request with this number to `out`, which has room for `template->length` bytes.
void template_render(const struct template *template, uint64_t number, char *out);

/// Writes an event object for a `track` request, with slots, of exactly `size` bytes. A fault if `size` is too small.
void event_write(char *out, size_t size, bool with_id, bool with_noise);
