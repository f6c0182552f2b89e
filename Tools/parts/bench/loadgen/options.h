#pragma once

#include <stdbool.h>
#include <stddef.h>

struct protocol;

/// The options of the command line.
struct options {
    const struct protocol *protocol;
    const char *socket_path;
    unsigned connections;
    /// The unanswered requests on each connection.
    unsigned window;
    /// The size of a Headgate request line with its LF in bytes. A Redis request contains the same event.
    size_t size;
    double warmup_seconds;
    double seconds;
    /// The events in one request. Several events are a `track_many`, or a transaction of Redis. `size` is then the size that a
    /// request with one of them would have.
    unsigned events;
    /// True if each event has an `id` created by the generator.
    bool ids;
    /// True if each event contains unique text.
    bool noise;
};

/// Parses the command line. For `--help` it prints the usage and exits with 0, for invalid options with 2.
struct options options_read(int count, char **arguments);
