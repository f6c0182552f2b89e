#pragma once

#include <stdint.h>

#include "histogram.h"
#include "options.h"

/// What a run has measured. `requests`, `seconds`, `cpu_seconds` and `latencies` leave out warm-up and ending.
struct result {
    uint64_t requests;
    /// All that were acknowledged, warm-up and ending included: what the server must have stored.
    uint64_t total;
    double seconds;
    /// What the generator itself used.
    double cpu_seconds;
    struct histogram latencies;
};

/// Loads the server for the time asked, then waits for what is still unanswered. A fault ends the process.
void run(const struct options *options, struct result *result);
