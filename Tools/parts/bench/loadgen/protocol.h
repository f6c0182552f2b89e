#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "request.h"

/// Where the last acknowledged event went: Headgate's sequence number, or the two parts of a Redis stream entry's id.
struct position {
    uint64_t major, minor;
};

/// What one answer is checked against, and what it leaves behind.
struct expectation {
    /// The number of the request whose answer must come now.
    uint64_t number;
    /// Each acknowledgement's position must be beyond the one before.
    struct position last;
    /// How many events each request has.
    unsigned events;
    /// Why the answer was refused.
    const char *refusal;
};

/// One way of asking a server to store an event.
struct protocol {
    const char *name;
    /// Makes the request that carries an event of the size that a Headgate line of `size` bytes has room for.
    void (*prepare)(struct template *template, const struct options *options);
    /// Takes the answer at the front of `bytes`: its length, 0 while it is not whole, -1 if it is refused.
    ptrdiff_t (*accept)(const char *bytes, size_t length, struct expectation *expectation);
};

extern const struct protocol headgate_protocol, redis_protocol;

/// NULL if there is none of that name.
const struct protocol *protocol_named(const char *name);

/// The size of the event in a Headgate request line of `size` bytes. A fault if nothing is left for it.
size_t event_size(size_t size);

/// Notes where an acknowledged event went. False, with a refusal, if that is not beyond the last one.
bool advance(struct expectation *expectation, struct position position);

/// Reads digits at `*at` and moves it behind them. False if there are none or too many.
bool read_number(const char **at, const char *end, uint64_t *number);
