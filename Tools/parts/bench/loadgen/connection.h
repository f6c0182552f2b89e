#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "protocol.h"

struct histogram;

enum { INPUT_CAPACITY = 262144 };

/// A connection to the server, with its unanswered requests.
struct connection {
    int descriptor;
    const struct protocol *protocol;
    const struct template *template;
    /// The numbers of the connections interleave, so that every request of a run has a unique number.
    uint64_t next_number, number_step;
    struct expectation expectation;

    unsigned window, unanswered;
    /// The time at which each unanswered request was written, in nanoseconds, beginning at `oldest`.
    uint64_t *sent_at;
    unsigned oldest;

    char *output;
    size_t output_length;
    char *input;
    size_t input_length;
};

/// Connects. Failing to connect is a fault.
void connection_open(struct connection *connection, const struct options *options, const struct template *template,
                     unsigned index);

/// Writes as many requests as the window allows, in one call if the socket accepts them.
void connection_fill(struct connection *connection, uint64_t now);

/// Writes the bytes that the socket did not accept before. Returns true if none are left.
bool connection_write(struct connection *connection);

/// Reads and checks the available answers. Returns the number of acknowledgements, and adds their latencies to `latencies`,
/// which may be NULL.
unsigned connection_read(struct connection *connection, uint64_t now, struct histogram *latencies);
