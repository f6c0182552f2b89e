/* Functions for tests in which the test plays the daemon. The client does its work while the test waits for a message. */
#define _GNU_SOURCE
#include "headgate.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *test; /* the name of the running test */

static void expect(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "%s: %s\n", test, what);
    exit(1);
}

static void hang(int signal) {
    (void)signal;
    static const char what[] = ": nothing came\n";
    ssize_t written = write(STDERR_FILENO, test, strlen(test));
    written += write(STDERR_FILENO, what, sizeof what - 1);
    _exit(written > 0);
}

/* ---- The daemon ---- */

typedef struct scene {
    char folder[32];
    struct sockaddr_un address;
    int listener, stream;
    headgate *client;
} scene;

/* Makes the daemon's socket. */
static void begin_listening(scene *of) {
    of->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    expect(bind(of->listener, (struct sockaddr *)&of->address, sizeof of->address) == 0, "a path for the socket");
    expect(listen(of->listener, 4) == 0, "a socket");
}

/* Closes the daemon's socket and its connection, and removes the socket. */
static void stop_listening(scene *of) {
    if (of->stream >= 0) close(of->stream);
    close(of->listener), unlink(of->address.sun_path);
    of->stream = of->listener = -1;
}

/* Makes a folder, and listens on a socket in it. */
static scene set(void) {
    scene of = {.folder = "/tmp/headgate-XXXXXX", .address.sun_family = AF_UNIX, .stream = -1};
    expect(mkdtemp(of.folder) != NULL, "a folder");
    snprintf(of.address.sun_path, sizeof of.address.sun_path, "%s/d.sock", of.folder);
    begin_listening(&of);
    return of;
}

/* Removes the socket and its folder. */
static void clear(scene *of) {
    if (of->listener >= 0) stop_listening(of);
    rmdir(of->folder);
}

/* Begins a test with a client that also has these options. */
static scene begin_as(headgate_options options) {
    scene of = set();
    options.name = "test", options.socket_path = of.address.sun_path;
    if (!options.backoff_base_ms) options.backoff_base_ms = options.backoff_cap_ms = 1;
    expect((of.client = headgate_open(&options, NULL)) != NULL, "a client");
    return of;
}

static inline scene begin(size_t max_unanswered) { return begin_as((headgate_options){.max_unanswered = max_unanswered}); }

static void end(scene *of) {
    headgate_stop(of->client); /* closing then waits for nothing */
    headgate_close(of->client);
    clear(of);
}

static void say(scene *of, const char *format, ...) {
    char line[256];
    va_list more;
    va_start(more, format);
    int length = vsnprintf(line, sizeof line - 1, format, more);
    va_end(more);
    line[length++] = '\n';
    expect(send(of->stream, line, (size_t)length, MSG_NOSIGNAL) == length, "the client takes what it is told");
}

static void answer(scene *of, int64_t id, const char *result) {
    say(of, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}", (long long)id, result);
}

static inline void refuse_with(scene *of, int64_t id, const char *reason) {
    say(of, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32000,\"message\":\"no\",\"data\":{\"reason\":\"%s\"}}}",
        (long long)id, reason);
}

static inline void refuse(scene *of, int64_t id) { refuse_with(of, id, "no_such_thing"); }

/* Reads the client's next message. Returns false if the client has not written one. */
static bool read_line(scene *of, char line[1024]) {
    ssize_t count = recv(of->stream, line, 1023, MSG_PEEK | MSG_DONTWAIT);
    char *line_end = count > 0 ? memchr(line, '\n', (size_t)count) : NULL;
    if (!line_end) return false;
    recv(of->stream, line, (size_t)(line_end - line) + 1, 0);
    *line_end = 0;
    return true;
}

static void wait_for_line(scene *of, char line[1024]) {
    while (!read_line(of, line)) headgate_poll(of->client, 1, NULL);
}

/* Expects this request as the next message, and returns its id. */
static int64_t request(scene *of, const char *method, const char *params) {
    char line[1024];
    int64_t id = -1;
    headgate_json message;
    wait_for_line(of, line);
    expect(headgate_json_check(line, strlen(line), 100, &message), line);
    expect(headgate_json_equals(headgate_json_member(message, "method"), method), line);
    headgate_json given = headgate_json_member(message, "params");
    expect(!params || (given.length == strlen(params) && !strncmp(given.text, params, given.length)), line);
    headgate_json_int(headgate_json_member(message, "id"), &id);
    return id;
}

/* Accepts the next connection and answers its greeting. The previous connection is gone. */
static inline void greet_with(scene *of, const char *greeting) {
    if (of->stream >= 0) close(of->stream);
    while ((of->stream = accept(of->listener, NULL, NULL)) < 0) headgate_poll(of->client, 1, NULL);
    answer(of, request(of, "hello", NULL), greeting);
}

static inline void greet(scene *of) { greet_with(of, "{\"protocol\":1}"); }

/* ---- Calls that wait for the daemon, each in a thread of its own ---- */

/* Defines a thread's function that makes a call, and returns NULL if the call fails. */
#define CALL(NAME, EXPRESSION)                                                                                          \
    static inline void *NAME(void *client) { return (EXPRESSION) ? client : NULL; }

CALL(ping, headgate_ping(client, HEADGATE_FOREVER, NULL))

static inline void *poll_until_closed(void *client) {
    while (headgate_poll(client, HEADGATE_FOREVER, NULL) >= 0) continue;
    return NULL;
}

static inline pthread_t start(void *(*call)(void *), void *context) {
    pthread_t thread;
    expect(pthread_create(&thread, NULL, call, context) == 0, "a thread");
    return thread;
}

/* Waits for a thread, and checks that its call succeeded or failed as expected. */
static inline void ends(pthread_t thread, bool is_well, const char *what) {
    void *client;
    pthread_join(thread, &client);
    expect((client != NULL) == is_well, what);
}

/* Has the client make a call that the daemon grants. */
static inline void grant(scene *of, void *(*call)(void *), const char *method, const char *result) {
    pthread_t thread = start(call, of->client);
    answer(of, request(of, method, NULL), result);
    ends(thread, true, method);
}

/* Begins a test with a client that connects for a call, which the daemon grants. */
static inline scene begin_with(headgate_options options, void *(*call)(void *), const char *method, const char *result) {
    scene of = begin_as(options);
    pthread_t thread = start(call, of.client);
    greet(&of);
    answer(&of, request(&of, method, NULL), result);
    ends(thread, true, method);
    return of;
}

/* Has the client make a call that the daemon does not answer in time; returns its id. The deadline grows until the call was written
 * before it passed. */
static inline int64_t give_up(scene *of, bool (*call)(scene *, long, headgate_error *)) {
    char line[1024];
    bool is_written = false;
    for (long deadline = 10; !is_written; deadline *= 2) {
        headgate_error error;
        expect(!call(of, deadline, &error), "the daemon does not answer");
        expect(strcmp(error.reason, "timed_out") == 0, error.reason);
        is_written = read_line(of, line);
    }
    headgate_json message;
    int64_t id = -1;
    expect(headgate_json_check(line, strlen(line), 100, &message), line);
    headgate_json_int(headgate_json_member(message, "id"), &id);
    return id;
}

/* ---- The tests of a program ---- */

typedef struct named_test {
    const char *name;
    void (*play)(void);
} named_test;

static int play_all(const char *program, const named_test *tests, size_t count) {
    signal(SIGALRM, hang);
    for (size_t place = 0; place < count; place++) {
        test = tests[place].name;
        alarm(60); /* so that a test that hangs fails */
        tests[place].play();
    }
    printf("%s: passed\n", program);
    return 0;
}
