#pragma once

#include <stdbool.h>
#include <stddef.h>

struct protocol;

/// What the command line asks for.
struct options {
    const struct protocol *protocol;
    const char *socket_path;
    unsigned connections;
    /// Unanswered requests kept on each connection.
    unsigned window;
    /// Bytes of one Headgate request line with its LF; a Redis request carries the same event.
    size_t size;
    double warmup_seconds;
    double seconds;
    /// Events in one request: with more than one `track_many`, or a transaction of Redis. `size` is then that of the request that
    /// one of them would be.
    unsigned events;
    /// Whether each event carries an `id` made here.
    bool ids;
    /// Whether each event carries text that no other has.
    bool noise;
};

/// Reads the command line. Prints the usage and ends the process with 0 for `--help`, with 2 for a wrong one.
struct options options_read(int count, char **arguments);
