#include "uuid.h"

#include <stdint.h>
#include <sys/random.h>
#include <time.h>

#include "fault.h"

/// xorshift64*, seeded by the kernel. A system call for each id would affect the measurement.
static uint64_t random_bits(void) {
    static uint64_t state;
    while (state == 0)
        if (getrandom(&state, sizeof state, 0) != sizeof state) fault("no random seed");
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(0x2545F4914F6CDD1D);
}

static uint64_t wall_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void uuid_write(char *out) {
    uint64_t halves[2] = {wall_milliseconds() << 16 | 0x7000 | (random_bits() >> 52),
                          UINT64_C(1) << 63 | random_bits() >> 2};
    for (int digit = 0; digit < 32; digit++) {
        if (digit == 8 || digit == 12 || digit == 16 || digit == 20) *out++ = '-';
        *out++ = "0123456789abcdef"[halves[digit / 16] >> (60 - 4 * (digit % 16)) & 15];
    }
}
