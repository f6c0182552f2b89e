/* Tests that one client serves many threads at once, against a daemon.
 *
 *     thread_test SOCKET
 */
#define _GNU_SOURCE
#include "headgate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, EVENTS = 300 };

static void expect(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "thread_test: %s\n", what);
    exit(1);
}

typedef struct scene {
    headgate *client;
    atomic_int stored, refused, news, closed, nested;
    int64_t last_seq; /* of the callbacks, which come one after the other */
} scene;

static void *track_one_by_one(void *context) {
    scene *of = context;
    headgate_event event = {.event = "one", .data = "{\"a\":[1,2,3]}"};
    int64_t last = -1;
    for (int n = 0; n < EVENTS; n++) {
        headgate_receipt receipt;
        headgate_error error;
        expect(headgate_track(of->client, &event, HEADGATE_FOREVER, &receipt, &error), "an event is stored");
        expect(receipt.seq > last, "a thread's events keep their order");
        last = receipt.seq;
        of->stored++;
        headgate_receipt_free(&receipt);
    }
    return NULL;
}

static void note_nested(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    (void)error;
    ((scene *)context)->nested += receipt != NULL;
}

static void note(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    scene *of = context;
    headgate_error why;
    (void)error;
    if (!receipt) {
        of->refused++;
        return;
    }
    of->stored++;
    expect(receipt->seq > of->last_seq, "callbacks come in the order of the events of one thread");
    of->last_seq = receipt->seq;
    expect(!headgate_ping(of->client, HEADGATE_FOREVER, &why) && strcmp(why.reason, "misuse") == 0,
           "a callback must not wait");
    headgate_event event = {.event = "nested"};
    expect(headgate_track_begin(of->client, &event, HEADGATE_FOREVER, note_nested, of, &why), "a callback may begin");
}

static void *track_at_once(void *context) {
    scene *of = context;
    headgate_event event = {.event = "many"};
    headgate_error error;
    for (int n = 0; n < EVENTS; n++)
        expect(headgate_track_begin(of->client, &event, HEADGATE_FOREVER, note, of, &error), "an event is begun");
    expect(headgate_drain(of->client, HEADGATE_FOREVER, &error), "all are answered");
    return NULL;
}

static void take_news(void *context, headgate_news news, headgate_json change, const headgate_error *error) {
    scene *of = context;
    (void)error;
    expect(headgate_ping(of->client, HEADGATE_FOREVER, NULL), "a handler may call the client");
    if (news == HEADGATE_CHANGED) expect(headgate_json_member(change, "topic").text, "a change has a topic");
    of->news++;
}

static void *poll_until_closed(void *context) {
    scene *of = context;
    while (headgate_poll(of->client, HEADGATE_FOREVER, NULL) >= 0) continue;
    return NULL;
}

static void *wait_for_nothing(void *context) {
    scene *of = context;
    headgate_error error;
    expect(!headgate_ping(of->client, HEADGATE_FOREVER, &error), "there is nobody to answer");
    of->closed += strcmp(error.reason, "closed") == 0;
    return NULL;
}

static void test_sharing(const char *path) {
    scene of = {.last_seq = -1};
    pthread_t threads[THREADS + 2];
    headgate_error error;
    int64_t watch;
    of.client = headgate_open(&(headgate_options){.name = "threads", .socket_path = path, .max_unanswered = 16}, &error);
    expect(of.client != NULL, "a client");
    pthread_create(&threads[THREADS], NULL, poll_until_closed, &of);
    pthread_create(&threads[THREADS + 1], NULL, track_at_once, &of);
    expect(headgate_watch(of.client, NULL, 0, take_news, &of, HEADGATE_FOREVER, &watch, &error), "a watch");
    for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, track_one_by_one, &of);
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    pthread_join(threads[THREADS + 1], NULL);
    expect(headgate_drain(of.client, HEADGATE_FOREVER, &error), "all are answered");
    expect(of.stored == (THREADS + 1) * EVENTS && of.nested == EVENTS && of.refused == 0, "all are stored");
    expect(headgate_unwatch(of.client, watch, &error) && of.news > 0, "there was news");
    expect(!headgate_unwatch(of.client, watch, &error), "a watch ends once");
    headgate_stop(of.client);
    pthread_join(threads[THREADS], NULL);
    headgate_close(of.client);
}

static void test_stopping(void) {
    scene of = {.last_seq = -1};
    pthread_t threads[THREADS];
    headgate_error error;
    of.client = headgate_open(&(headgate_options){.name = "threads", .socket_path = "/nowhere/there.sock"}, &error);
    expect(of.client != NULL, "a client");
    headgate_event event = {.event = "never"};
    expect(headgate_track_begin(of.client, &event, HEADGATE_FOREVER, note, &of, &error), "an event is begun");
    for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, wait_for_nothing, &of);
    expect(!headgate_ping(of.client, 50, &error) && strcmp(error.reason, "cannot_connect") == 0, "a deadline");
    headgate_stop(of.client);
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    expect(of.closed == THREADS, "all that waited are told");
    headgate_close(of.client);
    expect(of.refused == 1, "and so is what was begun");
}

int main(int count, char **words) {
    expect(count == 2, "usage: thread_test SOCKET");
    test_sharing(words[1]);
    test_stopping();
    printf("thread_test: passed\n");
    return 0;
}
