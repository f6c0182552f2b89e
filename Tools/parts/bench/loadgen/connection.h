#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "protocol.h"

struct histogram;

enum { INPUT_CAPACITY = 262144 };

/// One connection to the server and what is unanswered on it.
struct connection {
    int descriptor;
    const struct protocol *protocol;
    const struct template *template;
    /// The numbers of all connections interleave: each has its own, so that every request of a run is unique.
    uint64_t next_number, number_step;
    struct expectation expectation;

    unsigned window, unanswered;
    /// When each unanswered request was written, in nanoseconds; the oldest at `oldest`.
    uint64_t *sent_at;
    unsigned oldest;

    char *output;
    size_t output_length;
    char *input;
    size_t input_length;
};

/// Connects. A fault if nobody answers at the socket.
void connection_open(struct connection *connection, const struct options *options, const struct template *template,
                     unsigned index);

/// Writes as many requests as the window has room for, all in one call if the socket takes them.
void connection_fill(struct connection *connection, uint64_t now);

/// Writes what the socket did not take before. True when nothing is left to write.
bool connection_write(struct connection *connection);

/// Reads what has come and checks it; the count of acknowledgements. Their latencies go to `latencies`, if not NULL.
unsigned connection_read(struct connection *connection, uint64_t now, struct histogram *latencies);
