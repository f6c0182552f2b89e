/* A client of Headgate, the local event-delivery daemon: this header, headgate.c, and nothing else but POSIX.
 *
 *     headgate *client = headgate_open(&(headgate_options){.name = "shop", .version = "2.1"}, NULL);
 *     headgate_track(client, &(headgate_event){.event = "signup", .data = "{\"plan\":\"free\"}"}, HEADGATE_FOREVER, NULL, NULL);
 *     headgate_close(client);
 *
 * A client is one connection, made when it is first needed and again whenever it is lost. Every event gets an id
 * before it is sent, and is sent under this id until it is acknowledged: a restart of the daemon loses none and
 * doubles none (Behaviour Q7).
 *
 * A client may be used by any number of threads at once. It has no thread of its own: the threads that wait in its
 * functions do the work, one for all. A thread that is cancelled ends when it leaves the client's function. A handler
 * or callback may end its thread (pthread_exit), and must not leave it otherwise (longjmp, an exception of C++). None
 * of the functions may be called in a signal handler. Handlers of boards, workers and watches run in headgate_poll only. A program
 * that has any, or barriers of its own, calls it again and again, so that they are requested again after a lost connection.
 * All state belongs to a client: there are no global variables.
 *
 * A client belongs to the process that has opened it. In one that was forked off every function fails with `misuse`:
 * open another client there. headgate_close frees the copy there, and calls nothing back.
 *
 * Texts are UTF-8 and end in NUL. JSON is one whole JSON text. Functions that return bool return false when
 * they fail, and write the reason to *error, unless that is NULL. Deadlines are milliseconds from now; HEADGATE_FOREVER is
 * none. After a deadline the request may be done all the same. The arguments that a function is about (its client, an event, a
 * method, an id or a name, a handler) are required: a function without it fails with `misuse`. Other pointers may be NULL.
 */
#ifndef HEADGATE_H
#define HEADGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this client, which is that of the daemon it comes with. */
#define HEADGATE_VERSION "0.2.0"

#define HEADGATE_FOREVER (-1L)

typedef struct headgate headgate;

/* Why something failed; texts that are too long are cut. */
typedef struct headgate_error {
    int code;          /* JSON-RPC's code; -32000 for the daemon's own refusals; 0 for an error of the client */
    char reason[32];   /* the machine-readable reason: the daemon's, or cannot_connect, disconnected, timed_out, closed, buffer_full,
                          bad_answer, misuse, no_memory; empty for JSON-RPC's own errors */
    char path[192];    /* the path of the wrong parameter, or empty */
    char message[256]; /* for people */
} headgate_error;

/* ---- JSON ---- */

/* A JSON value inside a text, which it does not own. `text` is NULL if there is no value. */
typedef struct headgate_json {
    const char *text;
    size_t length;
} headgate_json;

typedef enum headgate_json_kind {
    HEADGATE_NONE, HEADGATE_NULL, HEADGATE_BOOL, HEADGATE_NUMBER, HEADGATE_STRING, HEADGATE_ARRAY, HEADGATE_OBJECT
} headgate_json_kind;

/* Returns true if a text is one JSON value (RFC 8259, UTF-8), with white space around it, nested no deeper than `max_depth`.
 * On success *value is the value. The functions below require values that have been checked; values of this client have been. */
bool headgate_json_check(const char *text, size_t length, int max_depth, headgate_json *value);
headgate_json_kind headgate_json_kind_of(headgate_json value);
/* Returns the member of an object, the last of that name. Its `text` is NULL if there is none or `object` is no object. */
headgate_json headgate_json_member(headgate_json object, const char *name);
/* Iterates over elements or members. The caller sets *place to 0 before the first call, and leaves it alone then. `key` is a
 * JSON string; its `text` is NULL for elements. */
bool headgate_json_next(headgate_json container, size_t *place, headgate_json *key, headgate_json *value);
bool headgate_json_int(headgate_json value, int64_t *number); /* false if the value is no whole number that fits */
bool headgate_json_bool(headgate_json value, bool fallback);  /* returns `fallback` if the value is no Boolean */
bool headgate_json_equals(headgate_json value, const char *text); /* true if the value is a string of this text */
/* Returns the text of a JSON string, ended by a NUL; the caller frees it. Returns NULL if the value is no string. */
char *headgate_json_text(headgate_json value, size_t *length);

/* An answer of the daemon. The caller frees it with headgate_answer_free. */
typedef struct headgate_answer {
    headgate_json result;
    char *memory;
} headgate_answer;

void headgate_answer_free(headgate_answer *answer);

/* ---- The connection ---- */

typedef enum headgate_state {
    HEADGATE_CONNECTED,    /* the daemon has answered the greeting */
    HEADGATE_DISCONNECTED, /* the connection was lost or could not be made; the client tries again while calls wait */
    HEADGATE_CLOSED        /* the client was stopped */
} headgate_state;

/* The options of a client. A member of 0 or NULL has its default. The hooks run as headgate_tracked does: they may
 * begin events, and must not wait for the client. */
typedef struct headgate_options {
    const char *name;             /* the program's name; required */
    const char *version;
    const char *socket_path;      /* default: $HEADGATE_SOCKET, or below $XDG_RUNTIME_DIR, or below /run */
    const char *id_namespace;     /* the namespace of the ids; default: that of the user */
    bool gives_up;                /* true if the next two count as they are, and HEADGATE_FOREVER is without an end;
                                     else calls wait 10 s for the first connection, and for ever for one that was lost */
    long connect_timeout_ms;      /* longest wait of calls for the first connection; one attempt is always made;
                                     a daemon that is found stopping counts as a lost connection */
    long reconnect_timeout_ms;    /* longest wait of calls after a lost connection; 0 does not wait */
    long greeting_timeout_ms;     /* longest wait for the answer to `hello`; default 10 000 */
    long close_timeout_ms;        /* longest wait of headgate_close for answers; default 5 000 */
    size_t max_unanswered;        /* greatest number of unanswered calls; default 16 384 */
    size_t max_unanswered_bytes;  /* greatest size of unanswered calls; default 8 MiB; one call is always let through */
    long backoff_base_ms;         /* first wait between two attempts to connect, with a random part; default 50 */
    long backoff_cap_ms;          /* longest wait between two attempts; default 5 000 */
    /* Called when the connection's state changes. `error` says why it is HEADGATE_DISCONNECTED, and is NULL otherwise. */
    void (*on_state)(void *context, headgate_state state, const headgate_error *error);
    /* Called when the daemon refuses on a later connection a worker, board, watch, barrier or status that it granted before, once
     * until it grants it again. `method` is the method that asks for it. The client asks again after each backoff_cap_ms. */
    void (*on_refused)(void *context, const char *method, const char *name, const headgate_error *error);
    /* Called with a line for the log: the daemon cannot be reached (once until a call is answered again), a service is refused,
     * an answer is not sent, or events are left at the end. By default the line goes to standard error. */
    void (*log)(void *context, const char *line);
    void *hook_context;
} headgate_options;

/* Makes a client, which connects at its first call. Returns NULL if that fails. */
headgate *headgate_open(const headgate_options *options, headgate_error *error);
/* Ends everything at once: running calls of other threads, and later ones, fail with `closed`. */
void headgate_stop(headgate *client);
/* Waits until all calls are answered, but no longer than close_timeout_ms, and logs how many were not; then stops and frees the
 * client. A program that ends without it loses what is not acknowledged. After headgate_stop it waits for nothing. No other
 * thread may be in any of the client's functions any more. */
void headgate_close(headgate *client);
/* Returns the path of the daemon's socket. */
const char *headgate_socket_path(const headgate *client);

/* Runs the handlers that are due, or waits until there is one. Returns the number of handlers that ran, 0 after the deadline,
 * -1 if the client failed or is closed. Several threads may poll: then handlers run at the same time, but never two
 * of one watch. */
int headgate_poll(headgate *client, long deadline_ms, headgate_error *error);
/* Waits until all calls are answered, also those that were only begun: all events of this client are stored then. Other
 * libraries call this flush; headgate_flush makes dispatchers send their pending events. */
bool headgate_drain(headgate *client, long deadline_ms, headgate_error *error);
/* Calls any method. `params` is a JSON object. When the connection breaks, methods that change nothing are called
 * again on the next one; others fail with `disconnected` if they had been written. */
bool headgate_call(headgate *client, const char *method, const char *params, long deadline_ms, headgate_answer *answer,
                   headgate_error *error);

/* ---- Tracking ---- */

typedef struct headgate_event {
    const char *event;              /* the event's name, not empty */
    const char *data;               /* a JSON object */
    const char *id;                 /* the event's id; NULL: the client makes one */
    const char *key;                /* the event's key; events with the same key are delivered in order */
    const char *time;               /* RFC 3339 */
    const char *const *dispatchers; /* ids of the only dispatchers that get the event; NULL follows the routes */
    size_t dispatcher_count;
    bool has_ttl;
    int64_t ttl_ms;                 /* if has_ttl: the time to live after the receipt */
} headgate_event;

/* The receipt of an event that is stored (Behaviour P1), or that no dispatcher takes. */
typedef struct headgate_receipt {
    char *id;       /* freed by headgate_receipt_free; a callback must not free it */
    int64_t seq;    /* the event's sequence number in the daemon; -1 if it is unrouted */
    bool duplicate; /* the daemon had stored this id before: by this call's first attempt, or by another event with the same id,
                       which may since have been delivered or purged, or have become a dead letter */
    bool unrouted;  /* no dispatcher takes the event */
} headgate_receipt;

void headgate_receipt_free(headgate_receipt *receipt);

/* Tracks an event, and waits until it is acknowledged. */
bool headgate_track(headgate *client, const headgate_event *event, long deadline_ms, headgate_receipt *receipt,
                    headgate_error *error);
/* Called once with the outcome of an event: either `receipt` or `error` is NULL. Runs in whatever thread is in one of the
 * client's functions, one after the other; it may begin further events, and must not wait for the client. */
typedef void (*headgate_tracked)(void *context, const headgate_receipt *receipt, const headgate_error *error);
/* Tracks an event without waiting for its acknowledgement: `tracked` is called with the outcome. Events keep the order of these
 * calls. Waits only while too many are unanswered, at most until the deadline, and fails with `buffer_full` then. If it
 * returns false, `tracked` is not called. */
bool headgate_track_begin(headgate *client, const headgate_event *event, long deadline_ms, headgate_tracked tracked,
                          void *context, headgate_error *error);
/* Tracks an event as headgate_track_begin does, but fails with `buffer_full` at once if there is no room. The event has no deadline. */
bool headgate_try_track(headgate *client, const headgate_event *event, headgate_tracked tracked, void *context,
                        headgate_error *error);
/* Tracks events atomically: all are stored, or none. The result has ids, first_seq, last_seq, duplicates, unrouted. */
bool headgate_track_many(headgate *client, const headgate_event *events, size_t count, long deadline_ms,
                         headgate_answer *answer, headgate_error *error);

/* ---- Queries and operations ---- */

typedef struct headgate_flush_options {
    const char *const *dispatchers; /* NULL is all */
    size_t dispatcher_count;
    bool wait;                      /* true to wait for the end; the result says how the flush ended */
    bool has_timeout;
    int64_t timeout_ms;             /* if has_timeout: its longest duration; 0 is without an end */
    const char *flush;              /* the flush's id, for headgate_flush_cancel */
} headgate_flush_options;

bool headgate_flush(headgate *client, const headgate_flush_options *options, long deadline_ms, headgate_answer *answer,
                    headgate_error *error);
bool headgate_dispatchers(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
bool headgate_pause(headgate *client, const char *dispatcher, const char *reason, bool flushable, long deadline_ms,
                    headgate_error *error);
bool headgate_resume(headgate *client, const char *dispatcher, long deadline_ms, headgate_error *error);
/* Returns pending events of a dispatcher. A negative limit or sequence number, here and below, counts as not given. */
bool headgate_peek(headgate *client, const char *dispatcher, int64_t limit, int64_t after_seq, long deadline_ms,
                   headgate_answer *answer, headgate_error *error);
bool headgate_purge(headgate *client, const char *dispatcher, int64_t before_seq, long deadline_ms, int64_t *purged,
                    headgate_error *error);
/* Returns a page of dead letters. `after` is the JSON of the previous page's `next`. */
bool headgate_dead_letters(headgate *client, const char *dispatcher, int64_t limit, const char *after, long deadline_ms,
                           headgate_answer *answer, headgate_error *error);
/* Sends dead letters again. `letters` is a JSON array of the `letter` members that headgate_dead_letters returns; NULL is all. */
bool headgate_dead_letters_requeue(headgate *client, const char *dispatcher, const char *letters, long deadline_ms,
                                   int64_t *count, headgate_error *error);
bool headgate_dead_letters_purge(headgate *client, const char *dispatcher, const char *letters, long deadline_ms,
                                 int64_t *count, headgate_error *error);
/* Announces foreground, background or exiting. What was announced last is announced again on each connection, but for
 * exiting. */
bool headgate_application_status(headgate *client, const char *status, long deadline_ms, headgate_error *error);

/* ---- Calls that only pass their params and return the result ---- */

/* written by Tools/protocol: declarations */
/* Returns an empty answer, to check the connection. */
bool headgate_ping(headgate *client, long deadline_ms, headgate_error *error);
/* Returns the rights of the caller: the groups of methods that it may call, and its namespace. */
bool headgate_rights(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Returns the OpenRPC document of the protocol. */
bool headgate_discover(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Cancels a flush. Events that were not sent stay pending. */
bool headgate_flush_cancel(headgate *client, const char *flush, long deadline_ms, headgate_error *error);
/* Returns every flush in progress, also flushes of clients that have disconnected. */
bool headgate_flushes(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Returns the status of the daemon, its store, dispatchers and barriers. */
bool headgate_status(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Ends a dispatcher's backoff: its next attempt begins now. */
bool headgate_retry(headgate *client, const char *id, long deadline_ms, headgate_error *error);
/* Rewinds a dispatcher: delivered events that the store retains are sent again, from a given sequence number or time
 * on. `to` is JSON. */
bool headgate_rewind(headgate *client, const char *id, const char *to, bool dry_run, long deadline_ms,
                     headgate_answer *answer, headgate_error *error);
/* Returns the settings in force, or those of one layer, with secrets replaced by ***. */
bool headgate_config(headgate *client, const char *layer, long deadline_ms, headgate_answer *answer,
                     headgate_error *error);
/* Merges a patch into the programmatic layer; null removes. `patch` is JSON. */
bool headgate_config_set(headgate *client, const char *patch, bool persist, long deadline_ms, headgate_error *error);
/* Reads the configuration file again. */
bool headgate_config_reload(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Returns all metrics, for monitoring systems. */
bool headgate_metrics(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Returns the state or outcome of an event for each of its dispatchers. */
bool headgate_event_trace(headgate *client, const char *id, const char *id_namespace, long deadline_ms,
                          headgate_answer *answer, headgate_error *error);
/* Returns every connected client, its counters, and why the daemon does not read from it, if so. */
bool headgate_clients(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Returns the next piece of a consistent copy of the store, as files of a data directory. A connection makes one copy
 * at a time. */
bool headgate_backup(headgate *client, const char *backup, long deadline_ms, headgate_answer *answer,
                     headgate_error *error);
/* Erases stored events for all dispatchers, and dead letters, and removes their bytes from the data directory. `when`
 * is JSON. */
bool headgate_erase(headgate *client, const char *when, const char *reason, bool dry_run, long deadline_ms,
                    headgate_answer *answer, headgate_error *error);
/* Reads the keys of `store.encryption` again, and rewrites the files under other keys with the first of them, in the
 * background. */
bool headgate_rekey(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* end of what Tools/protocol has written */

/* ---- Barriers (Behaviour B29) ---- */

typedef struct headgate_barrier {
    const char *id;
    const char *state;         /* "open" or "closed" */
    const char *const *scopes; /* NULL is all */
    size_t scope_count;
    const char *flushable;     /* "true", "false", or NULL for the default */
    const char *on_disconnect; /* "unregister", "open", "close", "keep" */
} headgate_barrier;

typedef struct headgate_barrier_change {
    const char *id;
    const char *state;      /* NULL leaves it unchanged */
    const char *flushable;  /* likewise */
    const char *dispatcher; /* the only dispatcher that the change is for; NULL is all scopes */
    const char *reason;     /* for people */
} headgate_barrier_change;

bool headgate_barriers(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Registers a barrier of this client's; it is registered again on each connection, as it was set last. A registration or a
 * change holds once the daemon has granted it: one that is refused leaves the barrier as it was. One that is not answered by
 * its deadline holds if it is granted later on the same connection. */
bool headgate_barrier_register(headgate *client, const headgate_barrier *barrier, long deadline_ms, headgate_error *error);
bool headgate_barrier_set(headgate *client, const headgate_barrier_change *change, long deadline_ms,
                          headgate_error *error);
/* Removes a barrier; with `force` that of another owner as well. A barrier that outlives its connection is removed as
 * soon as there is a connection again, even after the deadline. */
bool headgate_barrier_unregister(headgate *client, const char *id, bool force, long deadline_ms, headgate_error *error);

/* ---- Requests and notifications of the daemon; their handlers run in headgate_poll ---- */

typedef enum headgate_news {
    HEADGATE_BEGAN,       /* the present state follows as changes, and replaces the state known before */
    HEADGATE_CHANGED,     /* `change` has the params of the notification */
    HEADGATE_INTERRUPTED, /* the connection is gone, for the reason in `error`; the watch begins again on the next one */
    HEADGATE_ENDED        /* nothing more comes, for the reason in `error` */
} headgate_news;

typedef void (*headgate_watcher)(void *context, headgate_news news, headgate_json change, const headgate_error *error);
/* Watches topics: "dispatchers", "barriers", "outcomes", "clients"; NULL is all. *watch is the id for headgate_unwatch. A watch
 * that is not polled for long begins again. */
bool headgate_watch(headgate *client, const char *const *topics, size_t count, headgate_watcher watcher, void *context,
                    long deadline_ms, int64_t *watch, headgate_error *error);
bool headgate_unwatch(headgate *client, int64_t watch, headgate_error *error);

/* The answer of a handler. */
typedef struct headgate_reply headgate_reply;

typedef struct headgate_batch {
    headgate_json dispatcher;
    headgate_json batch;
    int64_t attempt;
    headgate_json events; /* an array */
} headgate_batch;

/* Delivers a batch. Events of which it names no outcome are delivered; false has all of them retried. */
typedef bool (*headgate_work)(void *context, const headgate_batch *batch, headgate_reply *reply);
/* Sets the outcome of one event: "delivered", "retry" or "dead". `event_id` is the member `id` of the event. */
bool headgate_reply_outcome(headgate_reply *reply, headgate_json event_id, const char *outcome);
/* Takes batches of a worker dispatcher (Behaviour K3), up to `credit` at once: no more of its handlers run at the same time,
 * whatever the number of threads that poll. A batch that has not begun when its connection is lost is dropped. */
bool headgate_subscribe(headgate *client, const char *dispatcher, int64_t credit, int64_t limit, headgate_work work,
                        void *context, long deadline_ms, headgate_error *error);
/* Takes no more batches, and runs or waits for the handlers of those that have arrived. A handler must not call it for its own worker. */
bool headgate_unsubscribe(headgate *client, const char *dispatcher, long deadline_ms, headgate_error *error);

typedef struct headgate_activation {
    headgate_json board;
    headgate_json activation;
    headgate_json input;
    headgate_json mainboard;
    bool as_barrier;
} headgate_activation;

typedef enum headgate_run_end { HEADGATE_DONE, HEADGATE_NOT_DONE, HEADGATE_FAILED } headgate_run_end;

typedef headgate_run_end (*headgate_run)(void *context, const headgate_activation *activation, headgate_reply *reply);
/* Sets the output of a board, a JSON value. */
bool headgate_reply_output(headgate_reply *reply, headgate_json output);
/* Serves a board (Behaviour A1). `barrier` is a JSON object as in the protocol. */
bool headgate_serve_board(headgate *client, const char *board, const char *barrier, bool bypass_gateway, headgate_run run,
                          void *context, long deadline_ms, headgate_error *error);
/* Serves a board whose barrier `choose` outputs at each activation, a JSON object as in the protocol. With no output, or
 * HEADGATE_NOT_DONE, the activation has no barrier (Behaviour A2). `choose` ignores `activation` and `as_barrier`. */
bool headgate_serve_board_choosing(headgate *client, const char *board, headgate_run choose, bool bypass_gateway,
                                   headgate_run run, void *context, long deadline_ms, headgate_error *error);
bool headgate_unserve_board(headgate *client, const char *board, long deadline_ms, headgate_error *error);

typedef struct headgate_activate_options {
    const char *board;
    const char *input;     /* JSON */
    const char *mainboard;
    int64_t timeout_ms;    /* 0 is the default */
    int64_t wait_ms;
} headgate_activate_options;

bool headgate_activate(headgate *client, const headgate_activate_options *options, long deadline_ms,
                       headgate_answer *answer, headgate_error *error);

#ifdef __cplusplus
}
#endif

#endif
