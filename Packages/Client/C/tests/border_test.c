/* Tests of the client's edge cases: an absent daemon, forked processes, threads that end, handlers that end in every way, the end of
 * the program, refused requests and late answers. */
#include "scene.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- Reports ---- */

typedef struct heard {
    char states[64], lines[4096], refused[256];
    int stored, failed, runs;
    char reason[32], batch[64];
} heard;

static void hear_state(void *context, headgate_state state, const headgate_error *error) {
    static const char *const words[] = {"connected ", "disconnected ", "closed "};
    heard *of = context;
    expect((error != NULL) == (state == HEADGATE_DISCONNECTED), "an error belongs to one state only");
    strncat(of->states, words[state], sizeof of->states - strlen(of->states) - 1);
}

static void hear_line(void *context, const char *line) {
    heard *of = context;
    strncat(of->lines, line, sizeof of->lines - strlen(of->lines) - 2);
    strcat(of->lines, "\n");
}

static void hear_refusal(void *context, const char *method, const char *name, const headgate_error *error) {
    heard *of = context;
    size_t length = strlen(of->refused);
    snprintf(of->refused + length, sizeof of->refused - length, "%s %s %s;", method, name, error->reason);
}

static headgate_options hearing(heard *by) {
    return (headgate_options){.on_state = hear_state, .log = hear_line, .on_refused = hear_refusal, .hook_context = by};
}

static void hear_receipt(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    heard *of = context;
    if (receipt) of->stored++;
    else of->failed++, snprintf(of->reason, sizeof of->reason, "%s", error->reason);
}

static const headgate_event event = {.event = "e", .id = "1"};

/* ---- Calls in threads of their own ---- */

static const headgate_barrier barrier = {.id = "c", .state = "closed"};
static const headgate_barrier other = {.id = "c", .state = "open", .on_disconnect = "nonsense"};

CALL(register_barrier, headgate_barrier_register(client, &barrier, HEADGATE_FOREVER, NULL))
CALL(register_other, headgate_barrier_register(client, &other, HEADGATE_FOREVER, NULL))
CALL(open_barrier, headgate_barrier_set(client, &(headgate_barrier_change){.id = "c", .state = "open"}, HEADGATE_FOREVER, NULL))
CALL(background, headgate_application_status(client, "background", HEADGATE_FOREVER, NULL))
CALL(nonsense, headgate_application_status(client, "nonsense", HEADGATE_FOREVER, NULL))

/* Returns the id of the next message, which must be this request. Another thread does the client's work. */
static int64_t request_of_others(scene *of, const char *method) {
    char line[1024];
    int64_t id = -1;
    headgate_json message;
    while (!read_line(of, line)) sched_yield();
    expect(headgate_json_check(line, strlen(line), 100, &message), line);
    expect(headgate_json_equals(headgate_json_member(message, "method"), method), line);
    headgate_json_int(headgate_json_member(message, "id"), &id);
    return id;
}

static void greet_others(scene *of) {
    close(of->stream);
    while ((of->stream = accept(of->listener, NULL, NULL)) < 0) sched_yield();
    answer(of, request_of_others(of, "hello"), "{\"protocol\":1}");
}

/* ---- Tests ---- */

static void test_permanent_faults(void) {
    char path[300], loop[64];
    scene of = set();
    snprintf(loop, sizeof loop, "%s/loop", of.folder);
    expect(symlink(loop, loop) == 0, "a link to itself");
    const char *const paths[] = {"%s/%0200d", "%s/d.sock/%d", "%s/loop/%d"};
    for (size_t place = 0; place < 3; place++) {
        heard by = {0};
        headgate_error error;
        snprintf(path, sizeof path, paths[place], of.folder, 0);
        headgate_options options = hearing(&by);
        options.name = "test", options.socket_path = path;
        options.gives_up = true, options.connect_timeout_ms = options.reconnect_timeout_ms = HEADGATE_FOREVER;
        headgate *client = headgate_open(&options, NULL);
        for (int n = 0; n < 2; n++) {
            expect(!headgate_ping(client, HEADGATE_FOREVER, &error), "waiting does not cure it");
            expect(strcmp(error.reason, "cannot_connect") == 0, error.reason);
        }
        headgate_close(client);
        expect(strcmp(by.states, "disconnected closed ") == 0, by.states);
        char *line_end = strchr(by.lines, '\n');
        expect(line_end && !line_end[1], "it is logged once");
    }
    unlink(loop);
    clear(&of);
}

static void test_states_are_reported(void) {
    heard by = {0};
    headgate_error error;
    scene of = begin_with(hearing(&by), ping, "ping", "{}");
    expect(strcmp(by.states, "connected ") == 0, by.states);
    stop_listening(&of);
    do expect(!headgate_ping(of.client, 5, &error), "there is no daemon");
    while (strcmp(error.reason, "cannot_connect") != 0); /* after the first attempt to connect */
    expect(strcmp(by.states, "connected disconnected ") == 0, by.states);
    expect(strstr(by.lines, "no such socket") != NULL, by.lines);
    end(&of);
    expect(strcmp(by.states, "connected disconnected closed ") == 0, by.states);
}

static void test_wait_for_the_first_connection_is_limited(void) {
    heard by = {0};
    headgate_error error;
    headgate_options options = hearing(&by);
    options.gives_up = true, options.connect_timeout_ms = 5;
    scene of = begin_as(options);
    stop_listening(&of);
    expect(!headgate_ping(of.client, HEADGATE_FOREVER, &error), "there is no daemon");
    expect(strcmp(error.reason, "cannot_connect") == 0, error.reason);
    end(&of);
}

static void test_missing_room_differs_from_missing_answers(void) {
    heard by = {0};
    headgate_error error;
    headgate_options options = hearing(&by);
    options.max_unanswered = 1;
    scene of = begin_as(options);
    stop_listening(&of);
    expect(headgate_try_track(of.client, &event, hear_receipt, &by, &error), "there is room for one");
    expect(!headgate_try_track(of.client, &event, hear_receipt, &by, &error), "and for no other");
    expect(strcmp(error.reason, "buffer_full") == 0, error.reason);
    expect(!headgate_track_begin(of.client, &event, 5, hear_receipt, &by, &error), "nor does it come");
    expect(strcmp(error.reason, "buffer_full") == 0, error.reason);
    expect(strstr(error.message, "no such socket") != NULL, error.message);
    end(&of);
    expect(by.failed == 1 && strcmp(by.reason, "closed") == 0, "what was begun is told, and nothing else");
}

typedef struct nested {
    headgate *client;
    heard by;
    char reason[32];
} nested;

/* A callback that calls headgate_try_track while there is no room. */
static void try_again(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    nested *of = context;
    headgate_error why = {0};
    (void)receipt, (void)error;
    while (headgate_try_track(of->client, &event, hear_receipt, &of->by, &why)) continue;
    snprintf(of->reason, sizeof of->reason, "%s", why.reason);
}

static void test_try_in_a_callback_is_bounded(void) {
    nested told = {0};
    scene of = begin_with((headgate_options){.max_unanswered = 3}, ping, "ping", "{}");
    told.client = of.client;
    expect(headgate_try_track(of.client, &event, try_again, &told, NULL), "an event");
    answer(&of, request(&of, "track", NULL), "{\"id\":\"1\",\"seq\":1}");
    for (int n = 0; n < 3; n++) answer(&of, request(&of, "track", NULL), "{\"id\":\"1\",\"seq\":1}");
    expect(headgate_drain(of.client, HEADGATE_FOREVER, NULL) && told.by.stored == 3, "there is room for three");
    expect(strcmp(told.reason, "buffer_full") == 0, told.reason);
    end(&of);
}

typedef struct waiting {
    headgate *client;
    heard *by;
    headgate_error error;
} waiting;

static void *wait_for_room(void *context) {
    waiting *of = context;
    bool is_begun = headgate_track_begin(of->client, &event, HEADGATE_FOREVER, hear_receipt, of->by, &of->error);
    return is_begun ? of : NULL;
}

static void test_calls_that_wait_for_room_get_the_end(void) {
    for (int round = 0; round < 5; round++) {
        heard by = {0};
        headgate_options options = hearing(&by);
        options.max_unanswered = 1;
        scene of = begin_as(options);
        waiting of_room = {.client = of.client, .by = &by};
        expect(headgate_try_track(of.client, &event, hear_receipt, &by, NULL), "there is room for one");
        pthread_t thread = start(wait_for_room, &of_room);
        greet_others(&of);
        request_of_others(&of, "track"); /* shows that the thread waits, and does the client's work */
        headgate_stop(of.client);
        ends(thread, false, "what is true is told later");
        expect(strcmp(of_room.error.reason, "closed") == 0, of_room.error.reason);
        end(&of);
        expect(by.failed == 1, "one was begun, and one is told");
    }
}

static void test_process_that_is_forked_off(void) {
    heard by = {0};
    headgate_error error;
    scene of = begin_with(hearing(&by), ping, "ping", "{}");
    expect(headgate_try_track(of.client, &event, hear_receipt, &by, NULL), "an event of the parent's");
    int64_t tracked = request(&of, "track", NULL);
    pid_t child = fork();
    if (child == 0) {
        bool is_told = !headgate_ping(of.client, HEADGATE_FOREVER, &error) && strcmp(error.reason, "misuse") == 0
            && !headgate_track(of.client, &(headgate_event){.event = "x"}, HEADGATE_FOREVER, NULL, &error)
            && !headgate_try_track(of.client, &event, hear_receipt, &by, &error)
            && !headgate_drain(of.client, HEADGATE_FOREVER, &error) && headgate_poll(of.client, HEADGATE_FOREVER, &error) < 0
            && !headgate_barrier_register(of.client, &barrier, HEADGATE_FOREVER, &error)
            && !headgate_serve_board(of.client, "b", NULL, false, NULL, NULL, HEADGATE_FOREVER, &error)
            && !headgate_unwatch(of.client, 1, &error) && strcmp(error.reason, "misuse") == 0;
        headgate_stop(of.client);
        headgate_close(of.client);
        _exit(!is_told || by.failed);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child's client is an error");
    answer(&of, tracked, "{\"id\":\"1\",\"seq\":1}");
    expect(headgate_drain(of.client, HEADGATE_FOREVER, NULL) && by.stored == 1, "the parent goes on");
    end(&of);
}

static void *close_client(void *client) {
    headgate_close(client);
    return client;
}

static void test_close_waits_for_answers(void) {
    heard by = {0};
    headgate_options options = hearing(&by);
    options.close_timeout_ms = HEADGATE_FOREVER;
    scene of = begin_with(options, ping, "ping", "{}");
    for (int n = 0; n < 3; n++)
        expect(headgate_try_track(of.client, &event, hear_receipt, &by, NULL), "an event");
    pthread_t closing = start(close_client, of.client);
    for (int n = 0; n < 3; n++) answer(&of, request_of_others(&of, "track"), "{\"id\":\"1\",\"seq\":1}");
    ends(closing, true, "an end");
    expect(by.stored == 3 && !by.failed && !*by.lines, "all are stored");
    clear(&of);
}

static void test_close_reports_events_that_are_left(void) {
    heard by = {0};
    headgate_options options = hearing(&by);
    options.close_timeout_ms = 1;
    scene of = begin_with(options, ping, "ping", "{}");
    expect(headgate_try_track(of.client, &event, hear_receipt, &by, NULL), "an event");
    headgate_close(of.client);
    expect(by.failed == 1 && strcmp(by.reason, "closed") == 0, "its caller is told");
    expect(strcmp(by.lines, "1 events were not acknowledged when the client was closed\n") == 0, by.lines);
    clear(&of);
}

/* ---- Barriers ---- */

static const char closed_again[] = "{\"id\":\"c\",\"state\":\"closed\"}", opening[] = "{\"id\":\"c\",\"state\":\"open\"}";

static void test_refused_change_leaves_a_barrier_as_it_was(void) {
    scene of = begin_with((headgate_options){0}, register_barrier, "barrier.register", "{}");
    pthread_t changing = start(open_barrier, of.client);
    refuse_with(&of, request(&of, "barrier.set", opening), "invalid");
    ends(changing, false, "it is refused");
    greet(&of);
    answer(&of, request(&of, "barrier.register", closed_again), "{}");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_change_is_not_lost_with_a_connection(void) {
    scene of = begin_with((headgate_options){0}, register_barrier, "barrier.register", "{}");
    pthread_t changing = start(open_barrier, of.client);
    request(&of, "barrier.set", opening);
    greet(&of);
    int64_t again = request(&of, "barrier.register", closed_again);
    int64_t in_one_piece = request(&of, "barrier.set", opening), asked = request(&of, "barrier.set", opening);
    answer(&of, again, "{}"), answer(&of, in_one_piece, "{}"), answer(&of, asked, "{}");
    ends(changing, true, "it is granted");
    greet(&of);
    answer(&of, request(&of, "barrier.register", opening), "{}");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static bool open_until(scene *of, long deadline, headgate_error *error) {
    return headgate_barrier_set(of->client, &(headgate_barrier_change){.id = "c", .state = "open"}, deadline, error);
}

static bool register_until(scene *of, long deadline, headgate_error *error) {
    return headgate_barrier_register(of->client, &(headgate_barrier){.id = "c", .state = "open"}, deadline, error);
}

/* Only a change that is granted late on the same connection takes effect. */
static void test_late_changes(void) {
    bool (*const calls[])(scene *, long, headgate_error *) = {open_until, register_until};
    for (int place = 0; place < 2; place++) {
        for (int is_granted = 0; is_granted <= 1; is_granted++) {
            scene of = begin_with((headgate_options){0}, register_barrier, "barrier.register", "{}");
            int64_t late = give_up(&of, calls[place]);
            if (is_granted) answer(&of, late, "{}");
            grant(&of, ping, "ping", "{}");
            greet(&of);
            answer(&of, request(&of, "barrier.register", is_granted ? opening : closed_again), "{}");
            grant(&of, ping, "ping", "{}");
            end(&of);
        }
    }
}

static void test_refused_registration_leaves_the_first(void) {
    scene of = begin_with((headgate_options){0}, register_barrier, "barrier.register", "{}");
    pthread_t second = start(register_other, of.client);
    refuse_with(&of, request(&of, "barrier.register", NULL), "invalid");
    ends(second, false, "it is refused");
    greet(&of);
    answer(&of, request(&of, "barrier.register", closed_again), "{}");
    grant(&of, ping, "ping", "{}");
    grant(&of, open_barrier, "barrier.set", "{}");
    end(&of);
}

static void test_refused_status_leaves_the_first(void) {
    static const char announced[] = "{\"status\":\"background\"}";
    scene of = begin_with((headgate_options){0}, background, "application.status", "{}");
    pthread_t second = start(nonsense, of.client);
    refuse_with(&of, request(&of, "application.status", NULL), "invalid");
    ends(second, false, "it is refused");
    greet(&of);
    answer(&of, request(&of, "application.status", announced), "{}");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_later_refusals_are_reported_and_requested_again(void) {
    heard by = {0};
    scene of = begin_with(hearing(&by), register_barrier, "barrier.register", "{}");
    greet(&of);
    for (int round = 0; round < 2; round++) refuse_with(&of, request(&of, "barrier.register", closed_again), "storage");
    answer(&of, request(&of, "barrier.register", closed_again), "{}");
    grant(&of, ping, "ping", "{}");
    expect(strcmp(by.refused, "barrier.register c storage;") == 0, by.refused);
    expect(strstr(by.lines, "the daemon refuses barrier.register of c, and the client repeats the request: no") != NULL, by.lines);
    end(&of);
}

/* ---- Workers ---- */

static bool work(void *context, const headgate_batch *batch, headgate_reply *reply) {
    heard *of = context;
    (void)reply;
    of->runs++;
    snprintf(of->batch, sizeof of->batch, "%.*s", (int)batch->batch.length, batch->batch.text);
    return true;
}

static bool work_too_much(void *context, const headgate_batch *batch, headgate_reply *reply) {
    char id[400];
    headgate_json value;
    (void)batch;
    ((heard *)context)->runs++;
    int length = snprintf(id, sizeof id, "\"%0300d\"", 0);
    return headgate_json_check(id, (size_t)length, 1, &value) && headgate_reply_outcome(reply, value, "dead");
}

static bool leave_thread(void *context, const headgate_batch *batch, headgate_reply *reply) {
    (void)batch, (void)reply;
    ((heard *)context)->runs++;
    pthread_exit(context);
}

typedef struct worker {
    headgate *client;
    headgate_work work;
    heard *by;
} worker;

static void *subscribe(void *context) {
    worker *of = context;
    return headgate_subscribe(of->client, "w", 1, -1, of->work, of->by, HEADGATE_FOREVER, NULL) ? of : NULL;
}

static scene begin_working(headgate_work work, heard *by, const char *greeting) {
    scene of = begin_as(hearing(by));
    worker made = {of.client, work, by};
    pthread_t thread = start(subscribe, &made);
    greet_with(&of, greeting);
    answer(&of, request(&of, "dispatcher.subscribe", NULL), "{}");
    ends(thread, true, "a subscription");
    return of;
}

static void dispatch(scene *of, const char *batch) {
    say(of,
        "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"dispatch\",\"params\":{\"dispatcher\":\"w\",\"batch\":\"%s\",\"events\":[]}}",
        batch);
}

static void expect_line(scene *of, const char *part) {
    char line[1024];
    while (!read_line(of, line)) sched_yield();
    expect(strstr(line, part) != NULL, line);
}

static void test_batches_of_a_lost_connection_are_dropped(void) {
    heard by = {0};
    scene of = begin_working(work, &by, "{}");
    pthread_t pinging = start(ping, of.client); /* does the client's work, and runs no handler */
    request_of_others(&of, "ping");
    dispatch(&of, "lost");
    greet_others(&of);
    answer(&of, request_of_others(&of, "dispatcher.subscribe"), "{}");
    dispatch(&of, "live");
    answer(&of, request_of_others(&of, "ping"), "{}");
    ends(pinging, true, "a ping");
    expect(headgate_poll(of.client, HEADGATE_FOREVER, NULL) == 1 && by.runs == 1, "one handler runs");
    expect(strcmp(by.batch, "\"live\"") == 0, by.batch);
    end(&of);
}

static void test_handlers_finish_at_an_orderly_stop(void) {
    heard by = {0};
    scene of = begin_working(work, &by, "{}");
    pthread_t pinging = start(ping, of.client);
    int64_t asked = request_of_others(&of, "ping");
    dispatch(&of, "b");
    say(&of, "{\"jsonrpc\":\"2.0\",\"method\":\"closing\",\"params\":{\"reason\":\"shutting_down\"}}");
    answer(&of, asked, "{}");
    ends(pinging, true, "a ping");
    expect(headgate_poll(of.client, HEADGATE_FOREVER, NULL) == 1, "its handler");
    expect_line(&of, "\"id\":\"d\",\"result\":{}");
    char byte;
    while (recv(of.stream, &byte, 1, MSG_DONTWAIT) != 0) headgate_poll(of.client, 1, NULL); /* until the client leaves the connection */
    greet(&of);
    answer(&of, request(&of, "dispatcher.subscribe", NULL), "{}");
    end(&of);
}

static void test_answer_that_is_too_long_becomes_an_error(void) {
    heard by = {0};
    scene of = begin_working(work_too_much, &by, "{\"limits\":{\"max_line_bytes\":250}}");
    dispatch(&of, "b");
    char line[1024];
    wait_for_line(&of, line);
    expect(strstr(line, "\"code\":-32603") != NULL && strlen(line) <= 250, line);
    grant(&of, ping, "ping", "{}");
    expect(strstr(by.lines, "longer or deeper") != NULL, by.lines);
    end(&of);
}

static headgate_run_end run_board(void *context, const headgate_activation *activation, headgate_reply *reply) {
    return (void)context, (void)activation, (void)reply, HEADGATE_DONE;
}

static headgate_run_end choose(void *context, const headgate_activation *activation, headgate_reply *reply) {
    headgate_json barrier;
    ((heard *)context)->runs++;
    if (headgate_json_equals(activation->input, "fail")) return HEADGATE_FAILED;
    if (headgate_json_equals(activation->input, "none")) return HEADGATE_NOT_DONE;
    headgate_json_check("{\"board\":\"login\"}", 17, 2, &barrier);
    return headgate_reply_output(reply, barrier) ? HEADGATE_DONE : HEADGATE_FAILED;
}

static void *serve_choosing(void *context) {
    worker *of = context;
    return headgate_serve_board_choosing(of->client, "b", choose, false, run_board, of->by, HEADGATE_FOREVER, NULL) ? of : NULL;
}

static void test_board_that_chooses_its_barrier(void) {
    static const char *const cases[][2] = {{"any", "\"result\":{\"barrier\":{\"board\":\"login\"}}"},
                                           {"none", "\"result\":{\"barrier\":null}"},
                                           {"fail", "\"code\":-32603"}};
    heard by = {0};
    scene of = begin_as(hearing(&by));
    worker made = {of.client, NULL, &by};
    pthread_t thread = start(serve_choosing, &made);
    greet(&of);
    answer(&of, request(&of, "board.serve", "{\"board\":\"b\",\"barrier\":\"ask\"}"), "{}");
    ends(thread, true, "a board");
    for (size_t place = 0; place < 3; place++) {
        char line[1024];
        say(&of, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"board.barrier\",\"params\":{\"board\":\"b\",\"input\":\"%s\"}}",
            cases[place][0]);
        wait_for_line(&of, line);
        expect(strstr(line, cases[place][1]) != NULL, line);
    }
    expect(by.runs == 3, "each activation has a choice");
    end(&of);
}

static void test_handler_that_ends_its_thread(void) {
    heard by = {0};
    scene of = begin_working(leave_thread, &by, "{}");
    pthread_t polling = start(poll_until_closed, of.client);
    dispatch(&of, "b");
    ends(polling, true, "its thread ended");
    expect(by.runs == 1, "in the handler");
    char line[1024];
    wait_for_line(&of, line);
    expect(strstr(line, "\"code\":-32603") != NULL, line);
    grant(&of, ping, "ping", "{}");
    end(&of);
}

/* A callback that ends its thread at the first receipt. */
static void leave_at_receipt(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    heard *of = context;
    hear_receipt(of, receipt, error);
    if (of->stored == 1) pthread_exit(of);
}

static void test_callback_that_ends_its_thread(void) {
    heard by = {0};
    scene of = begin_with(hearing(&by), ping, "ping", "{}");
    int64_t ids[3];
    for (int n = 0; n < 3; n++) {
        expect(headgate_try_track(of.client, &event, leave_at_receipt, &by, NULL), "an event");
        ids[n] = request(&of, "track", NULL);
    }
    pthread_t polling = start(poll_until_closed, of.client);
    for (int n = 0; n < 3; n++) answer(&of, ids[n], "{\"id\":\"1\",\"seq\":1}");
    ends(polling, true, "its thread ended");
    expect(headgate_drain(of.client, HEADGATE_FOREVER, NULL) && by.stored == 3, "the others are told all the same");
    end(&of);
}

static void test_thread_that_is_cancelled(void) {
    scene of = begin_with((headgate_options){0}, ping, "ping", "{}");
    pthread_t pinging = start(ping, of.client);
    int64_t asked = request_of_others(&of, "ping");
    expect(pthread_cancel(pinging) == 0, "a request to end");
    grant(&of, ping, "ping", "{}");
    answer(&of, asked, "{}");
    pthread_join(pinging, NULL);
    grant(&of, ping, "ping", "{}");
    end(&of);
}

/* ---- Limits ---- */

static const char too_long[] =
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no\",\"data\":{\"reason\":\"line_too_long\"}}}";

static void test_lowered_limits_are_read_again(void) {
    static const char data[] = "{\"text\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}";
    heard small = {0}, large = {0};
    scene of = begin_with((headgate_options){0}, ping, "ping", "{}");
    headgate_event big = event;
    big.data = data;
    expect(headgate_try_track(of.client, &event, hear_receipt, &small, NULL), "an event");
    expect(headgate_try_track(of.client, &big, hear_receipt, &large, NULL), "another one");
    request(&of, "track", NULL), request(&of, "track", NULL);
    say(&of, "%s", too_long);
    greet_with(&of, "{\"limits\":{\"max_line_bytes\":100}}");
    answer(&of, request(&of, "track", NULL), "{\"id\":\"1\",\"seq\":1}");
    grant(&of, ping, "ping", "{}");
    expect(headgate_drain(of.client, HEADGATE_FOREVER, NULL) && small.stored == 1, "what may be repeated is");
    expect(large.failed == 1 && strcmp(large.reason, "line_too_long") == 0, large.reason);
    end(&of);
}

static void test_repeated_limit_error_fails_the_calls(void) {
    heard by = {0};
    scene of = begin_with((headgate_options){0}, ping, "ping", "{}");
    expect(headgate_try_track(of.client, &event, hear_receipt, &by, NULL), "an event");
    request(&of, "track", NULL);
    say(&of, "%s", too_long);
    greet(&of);
    request(&of, "track", NULL);
    say(&of, "%s", too_long);
    expect(headgate_drain(of.client, HEADGATE_FOREVER, NULL), "an end");
    expect(by.failed == 1 && strcmp(by.reason, "bad_answer") == 0, by.reason);
    end(&of);
}

static void is_misuse(bool is_ok, headgate_error *error, const char *what) {
    expect(!is_ok && error->code == 0 && strcmp(error->reason, "misuse") == 0, what);
    *error = (headgate_error){0};
}

/* The client makes no request and does not connect: no daemon listens. */
static void test_required_arguments_are_missing(void) {
    headgate_error e = {0};
    headgate_event event = {.event = "x"};
    is_misuse(headgate_open(NULL, &e), &e, "no options");
    is_misuse(headgate_open(&(headgate_options){0}, &e), &e, "no name");
    is_misuse(headgate_track(NULL, &event, HEADGATE_FOREVER, NULL, &e), &e, "no client");
    is_misuse(headgate_status(NULL, HEADGATE_FOREVER, NULL, &e), &e, "no client for a call");
    is_misuse(headgate_poll(NULL, HEADGATE_FOREVER, &e) >= 0, &e, "no client to poll");
    expect(!headgate_socket_path(NULL), "no client, no path");
    headgate_stop(NULL);
    headgate_close(NULL);
    headgate *client = headgate_open(&(headgate_options){.name = "c", .socket_path = "/nowhere"}, NULL);
    is_misuse(headgate_track(client, NULL, HEADGATE_FOREVER, NULL, &e), &e, "no event");
    is_misuse(headgate_try_track(client, NULL, NULL, NULL, &e), &e, "no event to try");
    is_misuse(headgate_track_begin(client, NULL, HEADGATE_FOREVER, NULL, NULL, &e), &e, "no event to begin");
    is_misuse(headgate_track_many(client, NULL, 2, HEADGATE_FOREVER, NULL, &e), &e, "no events");
    is_misuse(headgate_call(client, NULL, NULL, HEADGATE_FOREVER, NULL, &e), &e, "no method");
    is_misuse(headgate_application_status(client, NULL, HEADGATE_FOREVER, &e), &e, "no status");
    is_misuse(headgate_barrier_register(client, NULL, HEADGATE_FOREVER, &e), &e, "no barrier");
    is_misuse(headgate_barrier_set(client, NULL, HEADGATE_FOREVER, &e), &e, "no change");
    is_misuse(headgate_barrier_unregister(client, NULL, false, HEADGATE_FOREVER, &e), &e, "no id");
    is_misuse(headgate_watch(client, NULL, 0, NULL, NULL, HEADGATE_FOREVER, NULL, &e), &e, "no watcher");
    is_misuse(headgate_subscribe(client, "jobs", 1, 0, NULL, NULL, HEADGATE_FOREVER, &e), &e, "no worker");
    is_misuse(headgate_unsubscribe(client, NULL, HEADGATE_FOREVER, &e), &e, "no dispatcher");
    is_misuse(headgate_serve_board(client, "b", NULL, false, NULL, NULL, HEADGATE_FOREVER, &e), &e, "no board's handler");
    is_misuse(headgate_unserve_board(client, NULL, HEADGATE_FOREVER, &e), &e, "no board");
    is_misuse(headgate_activate(client, NULL, HEADGATE_FOREVER, NULL, &e), &e, "no activation");
    headgate_close(client);
}

int main(void) {
    static const named_test tests[] = {
        {"what is needed is missing", test_required_arguments_are_missing},
        {"permanent faults", test_permanent_faults},
        {"states are told", test_states_are_reported},
        {"first connection has an end", test_wait_for_the_first_connection_is_limited},
        {"room is told from answers", test_missing_room_differs_from_missing_answers},
        {"try in a callback is bounded", test_try_in_a_callback_is_bounded},
        {"what waits for room is told of the end", test_calls_that_wait_for_room_get_the_end},
        {"process that is forked off", test_process_that_is_forked_off},
        {"close waits for answers", test_close_waits_for_answers},
        {"close says what was left", test_close_reports_events_that_are_left},
        {"refused change leaves a barrier as it was", test_refused_change_leaves_a_barrier_as_it_was},
        {"change is not lost with a connection", test_change_is_not_lost_with_a_connection},
        {"late changes", test_late_changes},
        {"refused registration leaves the first", test_refused_registration_leaves_the_first},
        {"refused status leaves the first", test_refused_status_leaves_the_first},
        {"what is refused later is told and asked for again", test_later_refusals_are_reported_and_requested_again},
        {"batches of a lost connection are dropped", test_batches_of_a_lost_connection_are_dropped},
        {"D11: work in hand at an orderly stop", test_handlers_finish_at_an_orderly_stop},
        {"answer that is too long is refused here", test_answer_that_is_too_long_becomes_an_error},
        {"A2: board that chooses its barrier", test_board_that_chooses_its_barrier},
        {"handler that ends its thread", test_handler_that_ends_its_thread},
        {"callback that ends its thread", test_callback_that_ends_its_thread},
        {"thread that is cancelled", test_thread_that_is_cancelled},
        {"lowered limits are learnt", test_lowered_limits_are_read_again},
        {"limits that bring the same again", test_repeated_limit_error_fails_the_calls},
    };
    return play_all("border_test", tests, sizeof tests / sizeof *tests);
}
