#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// The size of the longest request, including framing.
    REQUEST_LIMIT = 65536,
    /// The maximum number of events in one request.
    EVENTS_LIMIT = 128,
    /// The digits of every number in a request, so that all requests have the same length.
    NUMBER_DIGITS = 10,
    UUID_LENGTH = 36,
};

/// The slots of a template for the number and the id of each request.
#define NUMBER_SLOT "@@@@@@@@@@"
#define UUID_SLOT "####################################"
/// A mark followed by a slot for unique, incompressible text of each request.
#define NOISE_MARK '~'

/// The number of the first request: the smallest with `NUMBER_DIGITS` digits.
#define FIRST_NUMBER UINT64_C(1000000000)

/// A rendered request, with the offsets of the parts that differ between requests.
struct template {
    char bytes[REQUEST_LIMIT];
    size_t length;
    size_t numbers_at[EVENTS_LIMIT + 1];
    size_t number_count;
    size_t uuids_at[EVENTS_LIMIT];
    size_t uuid_count;
    size_t noise_at[EVENTS_LIMIT];
    size_t noise_count;
    /// The length of each unique text, in bytes.
    size_t noise_length;
};

/// Finds the slots in `bytes[0..<length]`.
void template_find_slots(struct template *template);

/// Writes the request with this number to `out`, which has room for `template->length` bytes.
void template_render(const struct template *template, uint64_t number, char *out);

/// Writes an event object with slots for a `track` request, of exactly `size` bytes. A `size` that is too small is a fault.
void event_write(char *out, size_t size, bool with_id, bool with_noise);
