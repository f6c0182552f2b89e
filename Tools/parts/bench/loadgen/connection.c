#include "connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fault.h"
#include "histogram.h"

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) fault("out of memory");
    return memory;
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fault("the socket's path is too long: %s", path);
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fault("socket: %s", strerror(errno));
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) fault("%s: %s", path, strerror(errno));
    return descriptor;
}

void connection_open(struct connection *connection, const struct options *options, const struct template *template,
                     unsigned index) {
    *connection = (struct connection){
        .descriptor = connect_to(options->socket_path),
        .protocol = options->protocol,
        .template = template,
        .next_number = FIRST_NUMBER + index,
        .number_step = options->connections,
        .expectation = {.number = FIRST_NUMBER + index, .events = options->events},
        .window = options->window,
        .sent_at = allocate(options->window, sizeof(uint64_t)),
        .output = allocate(options->window, template->length),
        .input = allocate(INPUT_CAPACITY, 1),
    };
}

void connection_fill(struct connection *connection, uint64_t now) {
    for (; connection->unanswered < connection->window; connection->unanswered++) {
        template_render(connection->template, connection->next_number, connection->output + connection->output_length);
        connection->output_length += connection->template->length;
        connection->next_number += connection->number_step;
        connection->sent_at[(connection->oldest + connection->unanswered) % connection->window] = now;
    }
    connection_write(connection);
}

bool connection_write(struct connection *connection) {
    if (connection->output_length == 0) return true;
    ssize_t written = send(connection->descriptor, connection->output, connection->output_length,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno != EAGAIN && errno != EINTR) fault("write: %s", strerror(errno));
    if (written <= 0) return false;
    connection->output_length -= (size_t)written;
    memmove(connection->output, connection->output + written, connection->output_length);
    return connection->output_length == 0;
}

static void settle_oldest(struct connection *connection, uint64_t now, struct histogram *latencies) {
    if (latencies) histogram_add(latencies, now - connection->sent_at[connection->oldest]);
    connection->oldest = (connection->oldest + 1) % connection->window;
    connection->unanswered--;
    connection->expectation.number += connection->number_step;
}

/// The length of the part of a wrong answer that is printed: the first line, up to a limit.
static int shown_length(const char *answer, const char *end) {
    int length = 0;
    while (length < 300 && answer + length < end && answer[length] != '\r' && answer[length] != '\n') length++;
    return length;
}

_Noreturn static void refuse(const struct connection *connection, const char *answer, const char *end) {
    fault("request %" PRIu64 ": the answer is %s: %.*s", connection->expectation.number,
          connection->expectation.refusal, shown_length(answer, end), answer);
}

static unsigned take_answers(struct connection *connection, uint64_t now, struct histogram *latencies) {
    const char *at = connection->input;
    const char *end = at + connection->input_length;
    unsigned count = 0;
    while (at < end) {
        if (connection->unanswered == 0) fault("an answer without a request: %.*s", shown_length(at, end), at);
        ptrdiff_t length = connection->protocol->accept(at, (size_t)(end - at), &connection->expectation);
        if (length < 0) refuse(connection, at, end);
        if (length == 0) break;
        settle_oldest(connection, now, latencies);
        at += length;
        count++;
    }
    connection->input_length = (size_t)(end - at);
    memmove(connection->input, at, connection->input_length);
    return count;
}

unsigned connection_read(struct connection *connection, uint64_t now, struct histogram *latencies) {
    size_t room = INPUT_CAPACITY - connection->input_length;
    if (room == 0) fault("an answer of more than %d bytes", INPUT_CAPACITY);
    ssize_t count = recv(connection->descriptor, connection->input + connection->input_length, room, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count < 0) fault("read: %s", strerror(errno));
    if (count == 0) fault("the server closed a connection with %u requests unanswered", connection->unanswered);
    connection->input_length += (size_t)count;
    return take_answers(connection, now, latencies);
}
