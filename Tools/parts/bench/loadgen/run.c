#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "connection.h"
#include "fault.h"

enum { EVENTS_AT_ONCE = 64, TICK_MS = 20, STALL_SECONDS = 30 };

enum phase { WARMING, MEASURING, ENDING };

struct load {
    const struct options *options;
    struct template template;
    struct connection *connections;
    int poll;
    enum phase phase;
    uint64_t phase_since, phase_until;
    uint64_t last_answer;
    double cpu_since;
    struct result *result;
};

static uint64_t monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double cpu_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void watch(struct load *load, struct connection *connection, int operation) {
    uint32_t interest = EPOLLIN | (connection->output_length > 0 ? EPOLLOUT : 0);
    struct epoll_event event = {.events = interest, .data.ptr = connection};
    if (epoll_ctl(load->poll, operation, connection->descriptor, &event) != 0) fault("epoll: %s", strerror(errno));
}

static void enter(struct load *load, enum phase phase, uint64_t now, double seconds) {
    load->phase = phase;
    load->phase_since = now;
    load->phase_until = now + (uint64_t)(seconds * 1e9);
    load->cpu_since = cpu_seconds();
}

static void end_measuring(struct load *load, uint64_t now) {
    load->result->seconds = (double)(now - load->phase_since) / 1e9;
    load->result->cpu_seconds = cpu_seconds() - load->cpu_since;
    load->result->requests = load->result->latencies.total;
    enter(load, ENDING, now, 0);
}

static void advance_phase(struct load *load, uint64_t now) {
    if (now < load->phase_until) return;
    if (load->phase == WARMING) {
        enter(load, MEASURING, now, load->options->seconds);
    } else if (load->phase == MEASURING) {
        end_measuring(load, now);
    }
}

static void serve(struct load *load, struct connection *connection, uint64_t now) {
    size_t unwritten = connection->output_length;
    connection_write(connection);
    struct histogram *latencies = load->phase == MEASURING ? &load->result->latencies : NULL;
    unsigned count = connection_read(connection, now, latencies);
    load->result->total += count;
    if (count > 0) load->last_answer = now;
    if (count > 0 && load->phase != ENDING) connection_fill(connection, monotonic_nanoseconds());
    if ((unwritten > 0) != (connection->output_length > 0)) watch(load, connection, EPOLL_CTL_MOD);
}

static bool is_answered(const struct load *load) {
    for (unsigned index = 0; index < load->options->connections; index++)
        if (load->connections[index].unanswered > 0) return false;
    return true;
}

static void turn(struct load *load) {
    struct epoll_event ready[EVENTS_AT_ONCE];
    int count = epoll_wait(load->poll, ready, EVENTS_AT_ONCE, TICK_MS);
    if (count < 0 && errno != EINTR) fault("epoll: %s", strerror(errno));
    for (int index = 0; index < count; index++) serve(load, ready[index].data.ptr, monotonic_nanoseconds());
    uint64_t now = monotonic_nanoseconds();
    if (now - load->last_answer > STALL_SECONDS * UINT64_C(1000000000)) fault("no answer for %d s", STALL_SECONDS);
    advance_phase(load, now);
}

static void open_connections(struct load *load) {
    unsigned count = load->options->connections;
    load->poll = epoll_create1(EPOLL_CLOEXEC);
    load->connections = calloc(count, sizeof *load->connections);
    if (load->poll < 0 || !load->connections) fault("no memory for %u connections", count);
    for (unsigned index = 0; index < count; index++) {
        struct connection *connection = &load->connections[index];
        connection_open(connection, load->options, &load->template, index);
        connection_fill(connection, monotonic_nanoseconds());
        watch(load, connection, EPOLL_CTL_ADD);
    }
}

void run(const struct options *options, struct result *result) {
    static struct load load;
    load = (struct load){.options = options, .result = result, .last_answer = monotonic_nanoseconds()};
    options->protocol->prepare(&load.template, options);
    open_connections(&load);
    enter(&load, WARMING, monotonic_nanoseconds(), options->warmup_seconds);
    while (load.phase != ENDING || !is_answered(&load)) turn(&load);
}
