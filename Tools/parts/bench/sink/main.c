// An HTTP server that only counts NDJSON lines, and a client that posts to it as fast as it answers. Together they measure
// the maximum rate of a sender.
//
//     sink serve                            prints its port; GET returns the number of events received so far
//     sink post PORT BATCHES EVENTS SIZE    posts BATCHES batches, one after the other; prints events a second

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 64, BUFFER = 1 << 20 };

struct connection {
    char *bytes;
    size_t count;
    /// The number of bytes of the body still to read, or 0 while a head is read.
    size_t body;
    int is_question;
};

static struct pollfd polls[MAX_CONNECTIONS + 1];
static struct connection connections[MAX_CONNECTIONS + 1];
static nfds_t poll_count = 1;
static uint64_t events;

static void fail(const char *what) {
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void send_all(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) return; // The peer has closed the connection; the next read handles that.
        bytes += sent;
        count -= (size_t)sent;
    }
}

static void answer(int descriptor, int is_question) {
    char body[32] = "", head[96];
    if (is_question) snprintf(body, sizeof body, "%llu", (unsigned long long)events);
    int count = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    send_all(descriptor, head, (size_t)count);
}

static void count_lines(const char *bytes, size_t count) {
    const char *end = bytes + count;
    while ((bytes = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
        events++;
        bytes++;
    }
}

/// Parses the head of a request in the buffer. Returns its size in bytes, or 0 if it is incomplete.
static size_t take_head(struct connection *connection) {
    char *end = memmem(connection->bytes, connection->count, "\r\n\r\n", 4);
    if (end == NULL) return 0;
    *end = 0;
    char *length = strcasestr(connection->bytes, "\r\ncontent-length:");
    connection->body = length == NULL ? 0 : strtoul(length + 17, NULL, 10);
    connection->is_question = strncmp(connection->bytes, "GET ", 4) == 0;
    return (size_t)(end - connection->bytes) + 4;
}

static void consume(struct connection *connection, int descriptor) {
    size_t place = 0;
    for (;;) {
        if (connection->body == 0) {
            memmove(connection->bytes, connection->bytes + place, connection->count - place);
            connection->count -= place;
            place = take_head(connection);
            if (place == 0) return;
        }
        size_t part = connection->count - place;
        if (part > connection->body) part = connection->body;
        count_lines(connection->bytes + place, part);
        place += part;
        connection->body -= part;
        if (connection->body > 0) {
            connection->count = 0;
            return;
        }
        answer(descriptor, connection->is_question);
    }
}

static void take_connection(int listener) {
    int descriptor = accept(listener, NULL, NULL), yes = 1;
    if (descriptor < 0) return;
    if (poll_count > MAX_CONNECTIONS) {
        close(descriptor);
        return;
    }
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    polls[poll_count] = (struct pollfd){.fd = descriptor, .events = POLLIN};
    connections[poll_count] = (struct connection){.bytes = malloc(BUFFER)};
    if (connections[poll_count].bytes == NULL) fail("malloc");
    poll_count++;
}

/// Returns true if the connection is still open.
static int read_connection(nfds_t index) {
    struct connection *connection = &connections[index];
    ssize_t received = recv(polls[index].fd, connection->bytes + connection->count, BUFFER - connection->count, 0);
    if (received > 0) {
        connection->count += (size_t)received;
        consume(connection, polls[index].fd);
        return 1;
    }
    close(polls[index].fd);
    free(connection->bytes);
    poll_count--;
    polls[index] = polls[poll_count];
    connections[index] = connections[poll_count];
    return 0;
}

static void serve(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 64) != 0) fail("bind");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    polls[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (;;) {
        if (poll(polls, poll_count, -1) < 0) fail("poll");
        for (nfds_t index = poll_count; index-- > 1;) {
            if (polls[index].revents != 0) read_connection(index);
        }
        if (polls[0].revents != 0) take_connection(listener);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// Creates a request with `events` lines of `size` bytes each, including the line feed.
static char *request(unsigned long lines, unsigned long size, size_t *count) {
    char head[128];
    int head_count = snprintf(
        head, sizeof head, "POST /events HTTP/1.1\r\nHost: sink\r\nContent-Length: %lu\r\n\r\n", lines * size);
    *count = (size_t)head_count + lines * size;
    char *bytes = malloc(*count);
    if (bytes == NULL) fail("malloc");
    memcpy(bytes, head, (size_t)head_count);
    memset(bytes + head_count, 'x', lines * size);
    for (unsigned long line = 1; line <= lines; line++) bytes[(size_t)head_count + line * size - 1] = '\n';
    return bytes;
}

static void post(int port, unsigned long batches, unsigned long lines, unsigned long size) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    size_t count;
    char *bytes = request(lines, size, &count), received[256];
    double start = now();
    for (unsigned long batch = 0; batch < batches; batch++) {
        send_all(descriptor, bytes, count);
        if (recv(descriptor, received, sizeof received, 0) <= 0) fail("recv");
    }
    printf("%.0f\n", (double)(batches * lines) / (now() - start));
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "serve") == 0) serve();
    if (count != 6 || strcmp(arguments[1], "post") != 0) {
        fprintf(stderr, "usage: sink serve | sink post PORT BATCHES EVENTS SIZE\n");
        return 2;
    }
    unsigned long numbers[3];
    for (int index = 0; index < 3; index++) numbers[index] = strtoul(arguments[index + 3], NULL, 10);
    post(atoi(arguments[2]), numbers[0], numbers[1], numbers[2]);
    return 0;
}
