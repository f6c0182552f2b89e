#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "request.h"

/// The position of the last acknowledged event: Headgate's sequence number, or the two parts of a Redis stream entry's id.
struct position {
    uint64_t major, minor;
};

/// The expected contents of an answer, and the results of checking it.
struct expectation {
    /// The number of the request whose answer is expected next.
    uint64_t number;
    /// The last position. Each acknowledgement must have a greater one.
    struct position last;
    /// The number of events in each request.
    unsigned events;
    /// The reason why the answer was rejected.
    const char *refusal;
};

/// A protocol for storing events on a server.
struct protocol {
    const char *name;
    /// Creates a request with an event of the size that fits in a Headgate line of `size` bytes.
    void (*prepare)(struct template *template, const struct options *options);
    /// Checks the answer at the beginning of `bytes`. Returns its length, 0 if it is incomplete, or -1 if it is wrong.
    ptrdiff_t (*accept)(const char *bytes, size_t length, struct expectation *expectation);
};

extern const struct protocol headgate_protocol, redis_protocol;

/// Returns the protocol with a name, or NULL if there is none.
const struct protocol *protocol_named(const char *name);

/// Returns the size of the event in a Headgate request line of `size` bytes. A line without room for an event is a fault.
size_t event_size(size_t size);

/// Records the position of an acknowledged event. Returns false, with a reason, if it is not greater than the last one.
bool advance(struct expectation *expectation, struct position position);

/// Parses digits at `*at` and advances it. Returns false if there are none or too many.
bool read_number(const char **at, const char *end, uint64_t *number);
