/* The C client as a program with the verbs of Docs/Clients.md. */
#define _GNU_SOURCE
#include "headgate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static long deadline = HEADGATE_FOREVER; /* of each call */

static void put_json_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') putchar('\\');
        if (byte < 0x20) printf("\\u%04x", byte);
        else putchar(byte);
    }
    putchar('"');
}

static void put_error(const headgate_error *error) {
    printf("\"error\":{\"code\":%d,\"reason\":", error->code);
    if (*error->reason) put_json_text(error->reason);
    else printf("null");
    printf(",\"message\":");
    put_json_text(error->message);
    printf(",\"path\":");
    if (*error->path) put_json_text(error->path);
    else printf("null");
    printf("}");
}

static void put_receipt(const headgate_receipt *receipt) {
    printf("\"result\":{\"id\":");
    put_json_text(receipt->id);
    if (receipt->seq >= 0) printf(",\"seq\":%lld", (long long)receipt->seq);
    else printf(",\"seq\":null");
    printf(",\"duplicate\":%s,\"unrouted\":%s}", receipt->duplicate ? "true" : "false",
           receipt->unrouted ? "true" : "false");
}

static void put_error_line(const headgate_error *error) {
    flockfile(stdout);
    printf("{");
    put_error(error);
    printf("}\n");
    fflush(stdout);
    funlockfile(stdout);
}

static void put_receipt_line(const headgate_receipt *receipt) {
    flockfile(stdout);
    printf("{");
    put_receipt(receipt);
    printf("}\n");
    fflush(stdout);
    funlockfile(stdout);
}

/* ---- Reports of the client ---- */

static void tell_state(void *context, headgate_state state, const headgate_error *error) {
    static const char *const words[] = {"connected", "disconnected", "closed"};
    (void)context, (void)error;
    printf("{\"state\":\"%s\"}\n", words[state]);
    fflush(stdout);
}

static void tell_warning(void *context, const char *line) {
    (void)context;
    flockfile(stdout);
    printf("{\"warning\":");
    put_json_text(line);
    printf("}\n");
    fflush(stdout);
    funlockfile(stdout);
}

static void ignore_line(void *context, const char *line) { (void)context, (void)line; }

static void *need(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "out of memory\n");
    exit(1);
}

/* ---- The arguments of one call ---- */

typedef struct arguments {
    headgate_json object;
    char *texts[MOST]; /* to be freed with the call */
    int count;
} arguments;

static char *keep(arguments *from, char *text) {
    if (from->count == MOST) exit(1);
    return from->texts[from->count++] = need(text);
}

/* Returns a member's text, or NULL if it is missing. */
static const char *text_of(arguments *from, const char *name) {
    headgate_json member = headgate_json_member(from->object, name);
    return member.text ? keep(from, headgate_json_text(member, NULL)) : NULL;
}

/* Returns a member as JSON, or NULL if it is missing. */
static const char *json_of(arguments *from, const char *name) {
    headgate_json member = headgate_json_member(from->object, name);
    return member.text ? keep(from, strndup(member.text, member.length)) : NULL;
}

static bool has(arguments *from, const char *name) { return headgate_json_member(from->object, name).text; }
static bool is_true(arguments *from, const char *name) {
    return headgate_json_bool(headgate_json_member(from->object, name), false);
}

static int64_t number_of(arguments *from, const char *name, int64_t usual) {
    headgate_json_int(headgate_json_member(from->object, name), &usual);
    return usual;
}

/* Returns a list of texts, or NULL if it is missing. */
static const char *const *texts_of(arguments *from, const char *name, size_t *count) {
    headgate_json list = headgate_json_member(from->object, name), element;
    *count = 0;
    if (!list.text) return NULL;
    const char **texts = need(calloc(MOST, sizeof *texts));
    keep(from, (char *)texts);
    for (size_t place = 0; headgate_json_next(list, &place, NULL, &element) && *count < MOST;)
        texts[(*count)++] = keep(from, headgate_json_text(element, NULL));
    return texts;
}

static headgate_event event_of(arguments *from) {
    headgate_event event = {
        .event = text_of(from, "event"), .data = json_of(from, "data"), .id = text_of(from, "id"),
        .key = text_of(from, "key"), .time = text_of(from, "time"), .has_ttl = has(from, "ttl_ms"),
        .ttl_ms = number_of(from, "ttl_ms", 0)};
    event.dispatchers = texts_of(from, "dispatchers", &event.dispatcher_count);
    return event;
}

/* A thread polls, so that the client renews its registrations on the next connection. */
static void *poll_until_closed(void *client) {
    while (headgate_poll(client, HEADGATE_FOREVER, NULL) >= 0) continue;
    return NULL;
}

/* ---- The verb `calls` ---- */

typedef bool (*calling)(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error);

static bool call_track(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {
    headgate_event event = event_of(from);
    headgate_receipt receipt;
    (void)answer;
    if (!headgate_track(client, &event, deadline, &receipt, error)) return false;
    put_receipt_line(&receipt);
    headgate_receipt_free(&receipt);
    return true;
}

static bool call_track_many(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {
    headgate_event events[8];
    size_t count = 0, place = 0;
    headgate_json list = headgate_json_member(from->object, "events"), whole = from->object;
    while (count < 8 && headgate_json_next(list, &place, NULL, &from->object)) events[count++] = event_of(from);
    from->object = whole;
    if (!headgate_track_many(client, events, count, deadline, answer, error)) return false;
    /* Absent numbers are written as null. */
    int64_t first, last, duplicates = 0, unrouted = 0;
    headgate_json ids = headgate_json_member(answer->result, "ids");
    bool has_first = headgate_json_int(headgate_json_member(answer->result, "first_seq"), &first);
    bool has_last = headgate_json_int(headgate_json_member(answer->result, "last_seq"), &last);
    headgate_json_int(headgate_json_member(answer->result, "duplicates"), &duplicates);
    headgate_json_int(headgate_json_member(answer->result, "unrouted"), &unrouted);
    flockfile(stdout);
    printf("{\"result\":{\"ids\":%.*s,\"first_seq\":", (int)ids.length, ids.text);
    if (has_first) printf("%lld,\"last_seq\":", (long long)first);
    else printf("null,\"last_seq\":");
    if (has_last) printf("%lld", (long long)last);
    else printf("null");
    printf(",\"duplicates\":%lld,\"unrouted\":%lld}}\n", (long long)duplicates, (long long)unrouted);
    funlockfile(stdout);
    headgate_answer_free(answer);
    return true;
}

static bool call_flush(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {
    headgate_flush_options options = {
        .wait = is_true(from, "wait"), .has_timeout = has(from, "timeout_ms"),
        .timeout_ms = number_of(from, "timeout_ms", 0), .flush = text_of(from, "flush")};
    options.dispatchers = texts_of(from, "dispatchers", &options.dispatcher_count);
    return headgate_flush(client, &options, deadline, answer, error);
}

static bool call_register(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {
    headgate_barrier barrier = {
        .id = text_of(from, "id"), .state = text_of(from, "state"), .flushable = json_of(from, "flushable"),
        .on_disconnect = text_of(from, "on_disconnect")};
    (void)answer;
    barrier.scopes = texts_of(from, "scopes", &barrier.scope_count);
    return headgate_barrier_register(client, &barrier, deadline, error);
}

static bool call_set(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {
    headgate_barrier_change change = {
        .id = text_of(from, "id"), .state = text_of(from, "state"), .flushable = json_of(from, "flushable"),
        .dispatcher = text_of(from, "dispatcher"), .reason = text_of(from, "reason")};
    (void)answer;
    return headgate_barrier_set(client, &change, deadline, error);
}

static bool call_activate(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {
    headgate_activate_options options = {
        .board = text_of(from, "board"), .input = json_of(from, "input"), .mainboard = text_of(from, "mainboard"),
        .timeout_ms = number_of(from, "timeout_ms", 0), .wait_ms = number_of(from, "wait_ms", 0)};
    return headgate_activate(client, &options, deadline, answer, error);
}

static bool put_count(bool is_ok, const char *name, int64_t count) {
    if (is_ok) printf("{\"result\":{\"%s\":%lld}}\n", name, (long long)count);
    return is_ok;
}

/* Calls that only need their arguments: NAME(client, from, answer, error) evaluates EXPRESSION. */
#define CALL(NAME, EXPRESSION)                                                                                          \
    static bool NAME(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {               \
        (void)from, (void)answer;                                                                                       \
        return EXPRESSION;                                                                                              \
    }

CALL(call_dispatchers, headgate_dispatchers(client, deadline, answer, error))
CALL(call_barriers, headgate_barriers(client, deadline, answer, error))
CALL(call_pause, headgate_pause(client, text_of(from, "id"), text_of(from, "reason"), is_true(from, "flushable"),
                                deadline, error))
CALL(call_resume, headgate_resume(client, text_of(from, "id"), deadline, error))
CALL(call_peek, headgate_peek(client, text_of(from, "dispatcher"), number_of(from, "limit", -1),
                              number_of(from, "after", -1), deadline, answer, error))
CALL(call_letters, headgate_dead_letters(client, text_of(from, "dispatcher"), number_of(from, "limit", -1),
                                         json_of(from, "after"), deadline, answer, error))
CALL(call_application, headgate_application_status(client, text_of(from, "status"), deadline, error))
CALL(call_unregister, headgate_barrier_unregister(client, text_of(from, "id"), is_true(from, "force"), deadline,
                                                  error))

/* Calls that only need their arguments and store a count in `count`, which is written as the member RESULT. */
#define COUNT(NAME, RESULT, EXPRESSION)                                                                                 \
    static bool NAME(headgate *client, arguments *from, headgate_answer *answer, headgate_error *error) {               \
        int64_t count = 0;                                                                                              \
        (void)from, (void)answer;                                                                                       \
        bool is_ok = EXPRESSION;                                                                                        \
        return put_count(is_ok, RESULT, count);                                                                         \
    }

COUNT(call_purge, "purged", headgate_purge(client, text_of(from, "dispatcher"), number_of(from, "before_seq", -1),
                                           deadline, &count, error))
COUNT(call_requeue, "count", headgate_dead_letters_requeue(client, text_of(from, "dispatcher"), json_of(from, "letters"),
                                                           deadline, &count, error))
COUNT(call_purge_letters, "count", headgate_dead_letters_purge(client, text_of(from, "dispatcher"),
                                                               json_of(from, "letters"), deadline, &count, error))
/* written by Tools/protocol: certified */
CALL(call_ping, headgate_ping(client, deadline, error))
CALL(call_rights, headgate_rights(client, deadline, answer, error))
CALL(call_discover, headgate_discover(client, deadline, answer, error))
CALL(call_flush_cancel, headgate_flush_cancel(client, text_of(from, "flush"), deadline, error))
CALL(call_flushes, headgate_flushes(client, deadline, answer, error))
CALL(call_status, headgate_status(client, deadline, answer, error))
CALL(call_retry, headgate_retry(client, text_of(from, "id"), deadline, error))
CALL(call_rewind, headgate_rewind(client, text_of(from, "id"), json_of(from, "to"), is_true(from, "dry_run"), deadline,
                                  answer, error))
CALL(call_config, headgate_config(client, text_of(from, "layer"), deadline, answer, error))
CALL(call_config_set, headgate_config_set(client, json_of(from, "patch"), is_true(from, "persist"), deadline, error))
CALL(call_config_reload, headgate_config_reload(client, deadline, answer, error))
CALL(call_metrics, headgate_metrics(client, deadline, answer, error))
CALL(call_event_trace, headgate_event_trace(client, text_of(from, "id"), text_of(from, "namespace"), deadline, answer,
                                            error))
CALL(call_clients, headgate_clients(client, deadline, answer, error))
CALL(call_backup, headgate_backup(client, text_of(from, "backup"), deadline, answer, error))
CALL(call_erase, headgate_erase(client, json_of(from, "when"), text_of(from, "reason"), is_true(from, "dry_run"),
                                deadline, answer, error))
CALL(call_rekey, headgate_rekey(client, deadline, answer, error))
/* end of what Tools/protocol has written */

static const struct {
    const char *method;
    calling call;
    bool tells; /* its result by itself */
} calls[] = {
    {"track", call_track, true}, {"track_many", call_track_many, true}, {"flush", call_flush, false},
    {"barrier.list", call_barriers, false},
    {"barrier.register", call_register, false}, {"barrier.set", call_set, false},
    {"barrier.unregister", call_unregister, false}, {"dispatcher.list", call_dispatchers, false},
    {"dispatcher.pause", call_pause, false}, {"dispatcher.resume", call_resume, false},
    {"queue.peek", call_peek, false}, {"queue.purge", call_purge, true}, {"dead_letters.list", call_letters, false},
    {"dead_letters.requeue", call_requeue, true}, {"dead_letters.purge", call_purge_letters, true},
    {"application.status", call_application, false}, {"board.activate", call_activate, false},
    /* written by Tools/protocol: entries */
    {"ping", call_ping, false},
    {"rights", call_rights, false},
    {"rpc.discover", call_discover, false},
    {"flush.cancel", call_flush_cancel, false},
    {"flush.list", call_flushes, false},
    {"status", call_status, false},
    {"dispatcher.retry", call_retry, false},
    {"dispatcher.rewind", call_rewind, false},
    {"config.get", call_config, false},
    {"config.set", call_config_set, false},
    {"config.reload", call_config_reload, false},
    {"metrics", call_metrics, false},
    {"event.trace", call_event_trace, false},
    {"client.list", call_clients, false},
    {"store.backup", call_backup, false},
    {"store.erase", call_erase, false},
    {"store.rekey", call_rekey, false},
    /* end of what Tools/protocol has written */
};

static void answer_line(headgate *client, headgate_json line) {
    arguments from = {.object = headgate_json_member(line, "arguments")};
    headgate_json method = headgate_json_member(line, "method");
    headgate_answer answer = {{0}, NULL};
    headgate_error error = {0, "misuse", "", "an unknown method"};
    size_t place = 0, count = sizeof calls / sizeof *calls;
    while (place < count && !headgate_json_equals(method, calls[place].method)) place++;
    if (place == count || !calls[place].call(client, &from, &answer, &error)) {
        put_error_line(&error);
    } else if (!calls[place].tells) {
        printf("{\"result\":%.*s}\n", answer.memory ? (int)answer.result.length : 2,
               answer.memory ? answer.result.text : "{}");
    }
    headgate_answer_free(&answer);
    while (from.count > 0) free(from.texts[--from.count]);
    fflush(stdout);
}

static void run_calls(headgate *client) {
    pthread_t poller;
    pthread_create(&poller, NULL, poll_until_closed, client);
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
        headgate_json value;
        if (headgate_json_check(line, (size_t)length, 1000, &value)) answer_line(client, value);
    }
    free(line);
    headgate_stop(client);
    pthread_join(poller, NULL);
}

/* ---- The verb `track` ---- */

typedef struct outcome {
    bool is_ok;
    headgate_receipt receipt;
    headgate_error error;
} outcome;

static void note(void *context, const headgate_receipt *receipt, const headgate_error *error) {
    outcome *noted = context;
    noted->is_ok = receipt != NULL;
    if (receipt) noted->receipt = *receipt, noted->receipt.id = need(strdup(receipt->id));
    else noted->error = *error;
}

static void put_outcome(size_t n, outcome *noted) {
    flockfile(stdout);
    printf("{\"n\":%zu,", n);
    if (noted->is_ok) put_receipt(&noted->receipt);
    else put_error(&noted->error);
    printf("}\n");
    fflush(stdout);
    funlockfile(stdout);
    headgate_receipt_free(&noted->receipt);
}

/* Creates the data of an event, with a text of the given size. */
static char *data_of(size_t n, size_t bytes) {
    char *data = need(malloc(bytes + 64));
    int length = sprintf(data, "{\"n\":%zu", n);
    if (bytes) {
        length += sprintf(data + length, ",\"text\":\"");
        memset(data + length, 'x', bytes);
        length += (int)bytes;
        data[length++] = '"';
    }
    strcpy(data + length, "}");
    return data;
}

static void track(headgate *client, size_t count, const char *name) {
    outcome *outcomes = need(calloc(count, sizeof *outcomes));
    for (size_t n = 0; n < count; n++) {
        char *data = data_of(n, 0);
        headgate_event event = {.event = name, .data = data};
        bool is_begun = headgate_track_begin(client, &event, HEADGATE_FOREVER, note, &outcomes[n], &outcomes[n].error);
        free(data);
        if (!is_begun) break;
    }
    headgate_drain(client, HEADGATE_FOREVER, NULL);
    for (size_t n = 0; n < count; n++) put_outcome(n, &outcomes[n]);
    free(outcomes);
}

/* Tracks events with calls that never wait. It writes refusals at once, and the other outcomes later. */
static void try_to_track(headgate *client, size_t count, const char *name, size_t bytes) {
    outcome *outcomes = need(calloc(count, sizeof *outcomes));
    bool *are_taken = need(calloc(count, sizeof *are_taken));
    for (size_t n = 0; n < count; n++) {
        char *data = data_of(n, bytes);
        headgate_event event = {.event = name, .data = data};
        are_taken[n] = headgate_try_track(client, &event, note, &outcomes[n], &outcomes[n].error);
        if (!are_taken[n]) put_outcome(n, &outcomes[n]);
        free(data);
    }
    puts("\"tried\"");
    fflush(stdout);
    headgate_drain(client, HEADGATE_FOREVER, NULL);
    for (size_t n = 0; n < count; n++)
        if (are_taken[n]) put_outcome(n, &outcomes[n]);
    free(outcomes), free(are_taken);
}

static void put_noted(outcome *noted) {
    if (noted->is_ok) put_receipt_line(&noted->receipt);
    else put_error_line(&noted->error);
    headgate_receipt_free(&noted->receipt);
}

/* Tracks an event that uses the available room, and another that waits for room until the deadline. */
static void need_room(headgate *client, const char *name) {
    outcome first = {0}, second = {0};
    headgate_event event = {.event = name};
    headgate_track_begin(client, &event, HEADGATE_FOREVER, note, &first, &first.error);
    if (headgate_track_begin(client, &event, deadline, note, &second, &second.error))
        headgate_drain(client, HEADGATE_FOREVER, NULL);
    put_noted(&second);
    headgate_drain(client, HEADGATE_FOREVER, NULL);
    put_noted(&first);
}

/* Tracks events without waiting, then closes the client, since C runs none of its code at the end of a program. */
static void track_and_end(headgate *client, size_t count, const char *name) {
    for (size_t n = 0; n < count; n++) {
        char *data = data_of(n, 0);
        headgate_event event = {.event = name, .data = data};
        headgate_try_track(client, &event, NULL, NULL, NULL);
        free(data);
    }
}

static void put_tracked(headgate *client, const char *who, const char *name) {
    headgate_event event = {.event = name};
    headgate_receipt receipt;
    headgate_error error;
    bool is_ok = headgate_track(client, &event, HEADGATE_FOREVER, &receipt, &error);
    printf("{\"%s\":{", who);
    if (is_ok) put_receipt(&receipt);
    else put_error(&error);
    printf("}}\n");
    fflush(stdout);
    if (is_ok) headgate_receipt_free(&receipt);
}

/* Tracks an event before, in, and after a child process. */
static void fork_in_the_middle(headgate *client, const char *name) {
    headgate_event event = {.event = name};
    headgate_track(client, &event, HEADGATE_FOREVER, NULL, NULL);
    pid_t child = fork();
    if (child == 0) {
        put_tracked(client, "child", name);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    put_tracked(client, "parent", name);
}

/* ---- The verb `handle` ---- */

static pthread_mutex_t lines = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static int lines_read;

static int count_lines(void) {
    pthread_mutex_lock(&lines);
    int count = lines_read;
    pthread_mutex_unlock(&lines);
    return count;
}

/* Waits until the number of input lines differs from `before`. */
static void wait_for_line(int before) {
    pthread_mutex_lock(&lines);
    while (lines_read == before) pthread_cond_wait(&came, &lines);
    pthread_mutex_unlock(&lines);
}

/* In C every kind of failure is the result false. */
static bool is_failure(headgate_json word) {
    static const char *const words[] = {"fail", "long", "cancel", "mute", "wrong"};
    for (size_t place = 0; place < sizeof words / sizeof *words; place++)
        if (headgate_json_equals(word, words[place])) return true;
    return false;
}

/* Handles each event as its name requests. */
static bool work(void *context, const headgate_batch *batch, headgate_reply *reply) {
    headgate_json event;
    bool fails = false, has_once = false, waits = false, leaves = false;
    int before = count_lines(); /* before the call: the line may come at once */
    (void)context;
    flockfile(stdout);
    printf("{\"batch\":[");
    for (size_t place = 0, count = 0; headgate_json_next(batch->events, &place, NULL, &event); count++) {
        headgate_json id = headgate_json_member(event, "id"), name = headgate_json_member(event, "event");
        printf("%s%.*s", count ? "," : "", (int)id.length, id.text);
        fails |= is_failure(name);
        waits |= headgate_json_equals(name, "wait");
        leaves |= headgate_json_equals(name, "leave");
        has_once |= headgate_json_equals(name, "retry_once");
    }
    printf("],\"attempt\":%lld}\n", (long long)batch->attempt);
    fflush(stdout);
    funlockfile(stdout);
    if (waits) wait_for_line(before);
    if (leaves) pthread_exit(NULL);
    if (fails) return false;
    if (has_once && batch->attempt > 1) return true;
    for (size_t place = 0; headgate_json_next(batch->events, &place, NULL, &event);) {
        headgate_json id = headgate_json_member(event, "id"), name = headgate_json_member(event, "event");
        if (headgate_json_equals(name, "dead")) headgate_reply_outcome(reply, id, "dead");
        if (headgate_json_equals(name, "retry") || headgate_json_equals(name, "retry_once"))
            headgate_reply_outcome(reply, id, "retry");
    }
    return true;
}

/* Returns the input as output, unless the input requests something else. */
static headgate_run_end run(void *context, const headgate_activation *activation, headgate_reply *reply) {
    (void)context;
    if (headgate_json_equals(activation->input, "refuse")) return HEADGATE_NOT_DONE;
    if (is_failure(activation->input)) return HEADGATE_FAILED;
    if (headgate_json_equals(activation->input, "leave")) pthread_exit(NULL);
    if (headgate_json_equals(activation->input, "wait")) {
        int before = count_lines();
        printf("{\"runs\":%.*s}\n", (int)activation->board.length, activation->board.text);
        fflush(stdout);
        wait_for_line(before);
    }
    bool has_output = headgate_json_kind_of(activation->input) > HEADGATE_NULL;
    return !has_output || headgate_reply_output(reply, activation->input) ? HEADGATE_DONE : HEADGATE_FAILED;
}

static void tell_news(void *context, headgate_news news, headgate_json change, const headgate_error *error) {
    static const char *const words[] = {"began", "changed", "interrupted"};
    (void)context;
    flockfile(stdout);
    if (news == HEADGATE_ENDED) {
        printf("{\"ended\":{");
        put_error(error);
        printf("}}\n");
    } else {
        printf("{\"news\":\"%s\",\"change\":%.*s}\n", words[news], change.text ? (int)change.length : 2,
               change.text ? change.text : "{}");
    }
    fflush(stdout);
    funlockfile(stdout);
}

/* A handler may end the polling thread, so another takes its place. */
static void *poll_again(void *client) {
    headgate_error error;
    do {
        pthread_t thread;
        pthread_create(&thread, NULL, poll_until_closed, client);
        pthread_join(thread, NULL);
    } while (headgate_poll(client, 0, &error) >= 0);
    return NULL;
}

static void handle(headgate *client, char *const *names, int count) {
    pthread_t threads[2];
    for (int place = 0; place < 2; place++) pthread_create(&threads[place], NULL, poll_again, client);
    for (int place = 0; place < count; place++) {
        const char *id = strchr(names[place], ':') + 1;
        if (names[place][0] == 'b') headgate_serve_board(client, id, NULL, false, run, NULL, HEADGATE_FOREVER, NULL);
        else if (names[place][1] == 'o')
            headgate_subscribe(client, id, 1, -1, work, NULL, HEADGATE_FOREVER, NULL);
        else headgate_watch(client, &id, 1, tell_news, NULL, HEADGATE_FOREVER, NULL, NULL);
    }
    puts("\"ready\"");
    fflush(stdout);
    for (int byte; (byte = getchar()) != EOF;) {
        if (byte != '\n') continue;
        pthread_mutex_lock(&lines);
        lines_read++;
        pthread_cond_broadcast(&came);
        pthread_mutex_unlock(&lines);
    }
    headgate_stop(client);
    for (int place = 0; place < 2; place++) pthread_join(threads[place], NULL);
}

int main(int count, char **words) {
    headgate_options options = {.name = "certified", .version = "1.0", .backoff_base_ms = 10, .backoff_cap_ms = 200,
                                .connect_timeout_ms = 10000, .reconnect_timeout_ms = HEADGATE_FOREVER, .log = ignore_line};
    int place = 1;
    for (; place + 1 < count && strncmp(words[place], "--", 2) == 0; place += 2) {
        const char *option = words[place], *value = words[place + 1];
        if (strcmp(option, "--socket") == 0) options.socket_path = value;
        if (strcmp(option, "--namespace") == 0) options.id_namespace = value;
        if (strcmp(option, "--max-unanswered") == 0) options.max_unanswered = (size_t)atol(value);
        if (strcmp(option, "--greeting-timeout-ms") == 0) options.greeting_timeout_ms = atol(value);
        if (strcmp(option, "--reconnect-timeout-ms") == 0) options.gives_up = true, options.reconnect_timeout_ms = atol(value);
        if (strcmp(option, "--deadline-ms") == 0) deadline = atol(value);
        if (strcmp(option, "--tell") == 0) options.on_state = tell_state, options.log = tell_warning;
        if (strcmp(option, "--connect-timeout-ms") == 0) options.gives_up = true, options.connect_timeout_ms = atol(value);
    }
    headgate_error error;
    if (place < count && strcmp(words[place], "end") == 0) options.log = NULL;
    headgate *client = headgate_open(&options, &error);
    if (!client || place == count) return fprintf(stderr, "%s\n", client ? "no verb" : error.message), 2;
    const char *const *given = (const char *const *)words + place + 1;
    if (strcmp(words[place], "calls") == 0) run_calls(client);
    else if (strcmp(words[place], "track") == 0) track(client, (size_t)atol(given[0]), given[1]);
    else if (strcmp(words[place], "try") == 0) try_to_track(client, (size_t)atol(given[0]), given[1], given[2] ? (size_t)atol(given[2]) : 0);
    else if (strcmp(words[place], "room") == 0) need_room(client, given[0]);
    else if (strcmp(words[place], "end") == 0) track_and_end(client, (size_t)atol(given[1]), given[2]);
    else if (strcmp(words[place], "fork") == 0) fork_in_the_middle(client, given[0]);
    else handle(client, words + place + 1, count - place - 1);
    headgate_close(client);
    return 0;
}
