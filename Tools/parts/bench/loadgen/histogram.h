#pragma once

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 2048 };

/// Counts durations in nanoseconds, each in a bucket no wider than 1/32 of it.
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    uint64_t largest;
};

void histogram_add(struct histogram *histogram, uint64_t nanoseconds);

/// Returns the lower bound of the bucket that contains a quantile (0…1), or 0 if there are no durations.
uint64_t histogram_quantile(const struct histogram *histogram, double share);
