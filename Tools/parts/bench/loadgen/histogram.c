#include "histogram.h"

/// The index of a bucket consists of the value's exponent and the five bits after its leading one.
enum { SUBDIVISION_BITS = 5, SUBDIVISIONS = 1 << SUBDIVISION_BITS };

static unsigned bucket_of(uint64_t value) {
    if (value < SUBDIVISIONS) return (unsigned)value;
    unsigned shift = 63 - SUBDIVISION_BITS - (unsigned)__builtin_clzll(value);
    return (shift << SUBDIVISION_BITS) + (unsigned)(value >> shift);
}

static uint64_t lower_bound(unsigned bucket) {
    if (bucket < 2 * SUBDIVISIONS) return bucket;
    unsigned shift = (bucket >> SUBDIVISION_BITS) - 1;
    return (uint64_t)(SUBDIVISIONS + bucket % SUBDIVISIONS) << shift;
}

void histogram_add(struct histogram *histogram, uint64_t nanoseconds) {
    histogram->counts[bucket_of(nanoseconds)]++;
    histogram->total++;
    if (nanoseconds > histogram->largest) histogram->largest = nanoseconds;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share) {
    double wanted = share * (double)histogram->total;
    uint64_t reached = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        reached += histogram->counts[bucket];
        if (reached > 0 && (double)reached >= wanted) return lower_bound(bucket);
    }
    return 0;
}
