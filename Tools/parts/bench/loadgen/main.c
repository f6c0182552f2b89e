#include <inttypes.h>
#include <stdio.h>

#include "fault.h"
#include "options.h"
#include "run.h"

static double microseconds(uint64_t nanoseconds) {
    return (double)nanoseconds / 1e3;
}

int main(int count, char **arguments) {
    static struct result result;
    struct options options = options_read(count, arguments);
    run(&options, &result);
    if (result.requests == 0) fault("no request was acknowledged in the measured time");
    printf("requests=%" PRIu64 " seconds=%.4f rate=%.0f", result.requests, result.seconds,
           (double)result.requests / result.seconds);
    printf(" p50_us=%.1f p99_us=%.1f max_us=%.1f", microseconds(histogram_quantile(&result.latencies, 0.50)),
           microseconds(histogram_quantile(&result.latencies, 0.99)), microseconds(result.latencies.largest));
    printf(" cpu=%.3f total=%" PRIu64 "\n", result.cpu_seconds / result.seconds, result.total);
    return 0;
}
