#pragma once

#include <stdint.h>

#include "histogram.h"
#include "options.h"

/// The results of a run. `requests`, `seconds`, `cpu_seconds` and `latencies` exclude the warm-up and the end.
struct result {
    uint64_t requests;
    /// All acknowledged events, including the warm-up and the end. The server must have stored them.
    uint64_t total;
    double seconds;
    /// The CPU time of the generator itself.
    double cpu_seconds;
    struct histogram latencies;
};

/// Loads the server for the requested time, then waits for the unanswered requests. A fault ends the process.
void run(const struct options *options, struct result *result);
