// Measures the time from `track` until the collector has the event, on an idle machine. In alternation it measures the
// unavoidable parts: a synced write to the same disk, and an HTTP request with its answer.
//
//     lone SOCKET FILE ROUNDS     prints the port of its collector, waits for a line, then prints medians in microseconds: of the
//                                 event, of its acknowledgement, of the write, and of the request
//
// FILE is created and filled first, so that a measured write changes only bytes of the file and not its size.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { EVENT = 300, FILE_SIZE = 1 << 20, BUFFER = 1 << 16, WARM_UP = 20 };

/// The pause before each measurement, so that all processes sleep as they do when events are rare.
static const struct timespec rest = {.tv_nsec = 3000000};

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static void fail(const char *what) {
    fprintf(stderr, "lone: %s: %s\n", what, errno == 0 ? "unexpected" : strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void send_all(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

// MARK: HTTP

static int listen_somewhere(int *port) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 8) != 0) fail("bind");
    getsockname(listener, (struct sockaddr *)&address, &size);
    *port = ntohs(address.sin_port);
    return listener;
}

static int accept_one(int listener) {
    int descriptor = accept(listener, NULL, NULL), yes = 1;
    if (descriptor < 0) fail("accept");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return descriptor;
}

/// Reads a whole message with a body. Returns 0 if the peer has closed the connection.
static int read_message(int descriptor) {
    static char bytes[BUFFER + 1];
    size_t count = 0;
    for (;;) {
        ssize_t received = recv(descriptor, bytes + count, BUFFER - count, 0);
        if (received <= 0) return 0;
        count += (size_t)received;
        bytes[count] = 0;
        const char *end = strstr(bytes, "\r\n\r\n");
        if (end == NULL) continue;
        const char *length = strcasestr(bytes, "\r\ncontent-length:");
        size_t body = length == NULL ? 0 : strtoul(length + 17, NULL, 10);
        if (count >= (size_t)(end - bytes) + 4 + body) return 1;
        if (count == BUFFER) fail("a message is too long");
    }
}

/// Starts a process that answers each request, and returns a connection to it.
static int connect_to_other(void) {
    int port, yes = 1, listener = listen_somewhere(&port);
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        int descriptor = accept_one(listener);
        while (read_message(descriptor)) send_all(descriptor, answer, sizeof answer - 1);
        _exit(0);
    }
    close(listener);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return descriptor;
}

static double time_request(int descriptor) {
    static char request[EVENT + 128];
    int head = snprintf(request, sizeof request, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", EVENT);
    memset(request + head, 'x', EVENT);
    double start = now();
    send_all(descriptor, request, (size_t)head + EVENT);
    if (!read_message(descriptor)) fail("the answer");
    return now() - start;
}

// MARK: The disk

static int make_file(const char *path) {
    static char zeros[FILE_SIZE];
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || pwrite(file, zeros, FILE_SIZE, 0) != FILE_SIZE || fsync(file) != 0) fail(path);
    return file;
}

static double time_write(int file) {
    static char record[512];
    static off_t offset;
    memset(record, 'x', sizeof record);
    offset = (offset + (off_t)sizeof record) % FILE_SIZE;
    double start = now();
    if (pwrite(file, record, sizeof record, offset) != sizeof record || fdatasync(file) != 0) fail("write");
    return now() - start;
}

// MARK: The event

static int connect_to_daemon(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fail(path);
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail(path);
    return descriptor;
}

/// The times of one event at the client and at the collector.
struct passage {
    double acknowledged, arrived;
};

static struct passage time_event(int daemon, int *collector, int listener) {
    char line[EVENT + 1], received[1024];
    int head = snprintf(
        line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"track\",\"params\":{\"event\":\"lone\",\"data\":{\"text\":\"");
    memset(line + head, 'x', sizeof line - (size_t)head);
    memcpy(line + EVENT - 6, "\"}}}\n", 6);
    struct passage passage = {0, 0};
    double start = now();
    send_all(daemon, line, EVENT - 1);
    while (passage.acknowledged == 0 || passage.arrived == 0) {
        struct pollfd polls[] = {{.fd = daemon, .events = POLLIN}, {.fd = *collector < 0 ? listener : *collector, .events = POLLIN}};
        if (poll(polls, 2, 10000) <= 0) fail("the event did not arrive within 10 s");
        if (polls[1].revents != 0 && *collector < 0) {
            *collector = accept_one(listener);
        } else if (polls[1].revents != 0) {
            if (!read_message(*collector)) fail("the dispatcher closed its connection");
            passage.arrived = now() - start;
            send_all(*collector, answer, sizeof answer - 1);
        }
        if (polls[0].revents != 0) {
            ssize_t count = recv(daemon, received, sizeof received - 1, 0);
            if (count <= 0) fail("the daemon closed the connection");
            received[count] = 0;
            if (strstr(received, "\"result\"") == NULL) fail(received);
            passage.acknowledged = now() - start;
        }
    }
    return passage;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

int main(int count, char **arguments) {
    size_t rounds = count == 4 ? strtoul(arguments[3], NULL, 10) : 0;
    if (rounds == 0) {
        fprintf(stderr, "usage: lone SOCKET FILE ROUNDS\n");
        return 2;
    }
    int port, listener = listen_somewhere(&port), collector = -1;
    printf("%d\n", port);
    fflush(stdout);
    if (getchar() == EOF) return 0;
    int other = connect_to_other(), file = make_file(arguments[2]), daemon = connect_to_daemon(arguments[1]);
    double *values[4];
    for (int index = 0; index < 4; index++) values[index] = calloc(rounds, sizeof **values);
    for (size_t round = 0; round < rounds + WARM_UP; round++) {
        size_t place = round < WARM_UP ? 0 : round - WARM_UP;
        nanosleep(&rest, NULL);
        struct passage passage = time_event(daemon, &collector, listener);
        values[0][place] = passage.arrived;
        values[1][place] = passage.acknowledged;
        nanosleep(&rest, NULL);
        values[2][place] = time_write(file);
        nanosleep(&rest, NULL);
        values[3][place] = time_request(other);
    }
    for (int index = 0; index < 4; index++) printf("%.1f\n", median(values[index], rounds));
    unlink(arguments[2]);
    return 0;
}
