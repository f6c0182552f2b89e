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

/// The lower bound of the bucket in which this share (0…1) of all durations is reached; 0 if there are none.
uint64_t histogram_quantile(const struct histogram *histogram, double share);
