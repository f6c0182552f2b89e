/* Tests of watches, boards and workers that are cancelled, or whose connection is lost. */
#include "scene.h"

static int64_t watch;
static const headgate_barrier barrier = {.id = "c", .state = "closed"};
static const headgate_barrier staying = {.id = "c", .state = "closed", .on_disconnect = "keep"};

static void ignore(void *context, headgate_news news, headgate_json change, const headgate_error *error) {
    (void)context, (void)news, (void)change, (void)error;
}

static headgate_run_end run(void *context, const headgate_activation *activation, headgate_reply *reply) {
    return (void)context, (void)activation, (void)reply, HEADGATE_DONE;
}

static bool work(void *context, const headgate_batch *batch, headgate_reply *reply) {
    return (void)context, (void)batch, (void)reply, true;
}

CALL(begin_watch, headgate_watch(client, NULL, 0, ignore, NULL, HEADGATE_FOREVER, &watch, NULL))
CALL(serve, headgate_serve_board(client, "b", NULL, false, run, NULL, HEADGATE_FOREVER, NULL))
CALL(register_barrier, headgate_barrier_register(client, &barrier, HEADGATE_FOREVER, NULL))
CALL(register_staying, headgate_barrier_register(client, &staying, HEADGATE_FOREVER, NULL))
CALL(unregister, headgate_barrier_unregister(client, "c", false, HEADGATE_FOREVER, NULL))
CALL(unserve, headgate_unserve_board(client, "b", HEADGATE_FOREVER, NULL))
CALL(subscribe, headgate_subscribe(client, "w", 1, -1, work, NULL, HEADGATE_FOREVER, NULL))
CALL(unsubscribe, headgate_unsubscribe(client, "w", HEADGATE_FOREVER, NULL))
CALL(drain, headgate_drain(client, HEADGATE_FOREVER, NULL))

static scene begin_watching(size_t max_unanswered) {
    return begin_with((headgate_options){.max_unanswered = max_unanswered}, begin_watch, "watch", "{\"watch\":\"1\"}");
}

/* ---- Tests ---- */

static bool watch_until(scene *of, long deadline, headgate_error *error) {
    return headgate_watch(of->client, NULL, 0, ignore, NULL, deadline, NULL, error);
}

static void test_watch_cancelled_at_its_deadline(void) {
    scene of = begin_with((headgate_options){0}, ping, "ping", "{}");
    answer(&of, give_up(&of, watch_until), "{\"watch\":\"late\"}");
    answer(&of, request(&of, "unwatch", "{\"watch\":\"late\"}"), "{}");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_watch_cancelled_while_it_begins_again(void) {
    scene of = begin_watching(0);
    greet(&of);
    int64_t again = request(&of, "watch", NULL);
    expect(headgate_unwatch(of.client, watch, NULL), "an end");
    answer(&of, again, "{\"watch\":\"2\"}");
    answer(&of, request(&of, "unwatch", "{\"watch\":\"2\"}"), "{}");
    end(&of);
}

static void test_watch_refused_after_it_was_cancelled(void) {
    scene of = begin_watching(0);
    greet(&of);
    int64_t again = request(&of, "watch", NULL);
    expect(headgate_unwatch(of.client, watch, NULL), "an end");
    refuse(&of, again);
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_end_of_a_watch_is_not_sent_on_another_connection(void) {
    scene of = begin_watching(1);
    pthread_t pinging = start(ping, of.client);
    request(&of, "ping", NULL);
    expect(headgate_unwatch(of.client, watch, NULL), "an end, which waits for the ping");
    greet(&of);
    answer(&of, request(&of, "ping", NULL), "{}");
    ends(pinging, true, "a ping");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_cancelled_watch_is_not_awaited_on_another_connection(void) {
    scene of = begin_watching(0);
    greet(&of);
    request(&of, "watch", NULL);
    expect(headgate_unwatch(of.client, watch, NULL), "an end");
    pthread_t pinging = start(ping, of.client);
    request(&of, "ping", NULL);
    greet(&of);
    answer(&of, request(&of, "ping", NULL), "{}");
    ends(pinging, true, "a ping");
    expect(headgate_drain(of.client, HEADGATE_FOREVER, NULL), "nothing is left to be answered");
    end(&of);
}

static void test_end_of_a_board_is_not_sent_on_another_connection(void) {
    char line[1024];
    scene of = begin_with((headgate_options){.max_unanswered = 1}, serve, "board.serve", "{}");
    pthread_t pinging = start(ping, of.client);
    request(&of, "ping", NULL);
    say(&of,
        "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"board.run\",\"params\":{\"board\":\"b\",\"activation\":\"1\"}}");
    pthread_t ending = start(unserve, of.client);
    /* No thread polls: only the thread that ends the board runs its handler. A message thus shows that the end has begun. */
    while (!read_line(&of, line)) sched_yield();
    expect(strstr(line, "done") != NULL, line);
    greet(&of);
    answer(&of, request(&of, "ping", NULL), "{}");
    ends(pinging, true, "a ping");
    grant(&of, ping, "ping", "{}");
    ends(ending, true, "the end of the board");
    end(&of);
}

/* Requests a service on a second connection, and ends the service before the daemon answers. */
static void play_second_thoughts(void *(*begin_it)(void *), const char *method, void *(*end_it)(void *),
                                 const char *end_method, bool is_refused) {
    scene of = begin_with((headgate_options){0}, begin_it, method, "{}");
    greet(&of);
    int64_t again = request(&of, method, NULL);
    pthread_t ending = start(end_it, of.client);
    int64_t given_back = request(&of, end_method, NULL);
    if (is_refused) refuse(&of, again), refuse(&of, given_back);
    else answer(&of, again, "{}"), answer(&of, given_back, "{}");
    ends(ending, true, end_method);
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_service_ended_while_it_begins_again(void) {
    for (int is_refused = 0; is_refused <= 1; is_refused++) {
        play_second_thoughts(serve, "board.serve", unserve, "board.unserve", is_refused);
        play_second_thoughts(subscribe, "dispatcher.subscribe", unsubscribe, "dispatcher.unsubscribe", is_refused);
        play_second_thoughts(register_barrier, "barrier.register", unregister, "barrier.unregister", is_refused);
    }
}

static const char taken_over[] = "{\"id\":\"c\",\"state\":\"open\",\"scopes\":[]}";

/* Expects the client to take over the barrier on this connection and remove it. */
static void take_away(scene *of) {
    int64_t over = request(of, "barrier.register", taken_over), away = request(of, "barrier.unregister", "{\"id\":\"c\"}");
    answer(of, over, "{}"), answer(of, away, "{}");
}

/* Makes a client that has lost its first connection, on which it registered a barrier that outlives it. */
static scene begin_without_daemon(void) {
    scene of = begin_with((headgate_options){0}, register_staying, "barrier.register", "{}");
    stop_listening(&of);
    headgate_poll(of.client, 10, NULL);
    return of;
}

static void test_staying_barrier_is_removed_on_the_next_connection(void) {
    scene of = begin_without_daemon();
    headgate_error error;
    expect(!headgate_barrier_unregister(of.client, "c", false, 10, &error), "there is no daemon");
    expect(strcmp(error.reason, "timed_out") == 0, error.reason);
    begin_listening(&of);
    greet(&of);
    take_away(&of);
    grant(&of, ping, "ping", "{}");
    pthread_t pinging = start(ping, of.client);
    request(&of, "ping", NULL);
    greet(&of);
    answer(&of, request(&of, "ping", NULL), "{}");
    ends(pinging, true, "a ping");
    end(&of);
}

static void test_staying_barrier_is_removed_after_a_lost_connection(void) {
    scene of = begin_with((headgate_options){0}, register_staying, "barrier.register", "{}");
    pthread_t ending = start(unregister, of.client);
    request(&of, "barrier.unregister", "{\"id\":\"c\"}");
    greet(&of);
    for (int round = 0; round < 2; round++) { /* the daemon still takes the barrier for that of the first connection */
        refuse_with(&of, request(&of, "barrier.register", taken_over), "conflict");
        refuse_with(&of, request(&of, "barrier.unregister", NULL), "conflict");
    }
    take_away(&of);
    ends(ending, true, "the end of the barrier");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_staying_barrier_that_is_registered_again_is_not_removed(void) {
    scene of = begin_without_daemon();
    expect(!headgate_barrier_unregister(of.client, "c", false, 10, NULL), "there is no daemon");
    expect(!headgate_barrier_register(of.client, &barrier, 10, NULL), "there is none yet");
    begin_listening(&of);
    pthread_t registering = start(register_barrier, of.client);
    greet(&of);
    answer(&of, request(&of, "barrier.register", "{\"id\":\"c\",\"state\":\"closed\"}"), "{}");
    ends(registering, true, "a barrier");
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static bool serve_until(scene *of, long deadline, headgate_error *error) {
    return headgate_serve_board(of->client, "b", NULL, false, run, NULL, deadline, error);
}

static bool subscribe_until(scene *of, long deadline, headgate_error *error) {
    return headgate_subscribe(of->client, "w", 1, -1, work, NULL, deadline, error);
}

/* The call that ends a service is sent before later requests, and so does not affect them. */
static void play_deadline(bool (*begin_until)(scene *, long, headgate_error *), void *(*begin_it)(void *), const char *method,
                          const char *end_method) {
    scene of = begin_with((headgate_options){0}, ping, "ping", "{}");
    int64_t late = give_up(&of, begin_until);
    int64_t given_back = request(&of, end_method, NULL);
    pthread_t beginning = start(begin_it, of.client);
    int64_t again = request(&of, method, NULL);
    answer(&of, late, "{}"), answer(&of, given_back, "{}"), answer(&of, again, "{}");
    ends(beginning, true, method);
    grant(&of, ping, "ping", "{}");
    end(&of);
}

static void test_service_cancelled_at_its_deadline(void) {
    play_deadline(serve_until, serve, "board.serve", "board.unserve");
    play_deadline(subscribe_until, subscribe, "dispatcher.subscribe", "dispatcher.unsubscribe");
}

static void test_service_is_not_ended_twice(void) {
    scene of = begin_with((headgate_options){0}, serve, "board.serve", "{}");
    pthread_t ending = start(unserve, of.client);
    int64_t given_back = request(&of, "board.unserve", NULL);
    headgate_error error;
    expect(!headgate_unserve_board(of.client, "b", HEADGATE_FOREVER, &error), "it is not served any more");
    expect(strcmp(error.reason, "not_found") == 0, error.reason);
    answer(&of, given_back, "{}");
    ends(ending, true, "the end of the board");
    end(&of);
}

static void note(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    (void)error;
    *(bool *)context = receipt != NULL;
}

static void test_drain_ends_while_another_thread_polls(void) {
    scene of = begin(0);
    pthread_t pinging = start(ping, of.client), polling = start(poll_until_closed, of.client);
    greet(&of);
    answer(&of, request(&of, "ping", NULL), "{}");
    ends(pinging, true, "a ping");
    for (int round = 0; round < 500; round++) { /* the end may come between two steps of the polling thread */
        bool is_stored = false;
        headgate_event event = {.event = "e", .id = "1"};
        expect(headgate_track_begin(of.client, &event, HEADGATE_FOREVER, note, &is_stored, NULL), "an event");
        pthread_t draining = start(drain, of.client);
        answer(&of, request(&of, "track", NULL), "{\"id\":\"1\",\"seq\":1}");
        ends(draining, true, "all are answered");
        expect(is_stored, "it is stored, and that has been told");
    }
    headgate_stop(of.client);
    pthread_join(polling, NULL);
    end(&of);
}

int main(void) {
    static const named_test tests[] = {
        {"watch given up at its deadline", test_watch_cancelled_at_its_deadline},
        {"watch given up while it begins again", test_watch_cancelled_while_it_begins_again},
        {"watch that is refused after it was given up", test_watch_refused_after_it_was_cancelled},
        {"end of a watch is not told to another connection", test_end_of_a_watch_is_not_sent_on_another_connection},
        {"watch given up is not waited for on another connection",
         test_cancelled_watch_is_not_awaited_on_another_connection},
        {"end of a board is not told to another connection", test_end_of_a_board_is_not_sent_on_another_connection},
        {"what is given back while it begins again", test_service_ended_while_it_begins_again},
        {"staying barrier is taken away on the next connection",
         test_staying_barrier_is_removed_on_the_next_connection},
        {"staying barrier is taken away where the connection breaks under it",
         test_staying_barrier_is_removed_after_a_lost_connection},
        {"staying barrier that is registered again is not taken away",
         test_staying_barrier_that_is_registered_again_is_not_removed},
        {"what is given up at its deadline", test_service_cancelled_at_its_deadline},
        {"what is being given back is not given back twice", test_service_is_not_ended_twice},
        {"drain ends while another thread polls", test_drain_ends_while_another_thread_polls},
    };
    return play_all("loss_test", tests, sizeof tests / sizeof *tests);
}
