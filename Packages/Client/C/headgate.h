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
 * that has any, or barriers of its own, calls it again and again: so they come back when the connection was lost.
 * Nothing is kept outside of a client.
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
    int code;          /* JSON-RPC's; -32000 for the daemon's own refusals; 0 for what happened on this side */
    char reason[32];   /* the word to go by: the protocol's, or cannot_connect, disconnected, timed_out, closed, buffer_full,
                          bad_answer, misuse, no_memory; empty for JSON-RPC's own errors */
    char path[192];    /* which of the params is wrong; empty if none is */
    char message[256]; /* for people */
} headgate_error;

/* ---- JSON ---- */

/* A JSON value within a text that somebody else keeps. `text` is NULL where there is none. */
typedef struct headgate_json {
    const char *text;
    size_t length;
} headgate_json;

typedef enum headgate_json_kind {
    HEADGATE_NONE, HEADGATE_NULL, HEADGATE_BOOL, HEADGATE_NUMBER, HEADGATE_STRING, HEADGATE_ARRAY, HEADGATE_OBJECT
} headgate_json_kind;

/* Returns true if a text is one JSON value (RFC 8259, UTF-8), with white space around it, nested no deeper than `max_depth`.
 * On success *value is it. The functions below want values that have been checked; those that this client gives have
 * been. */
bool headgate_json_check(const char *text, size_t length, int max_depth, headgate_json *value);
headgate_json_kind headgate_json_kind_of(headgate_json value);
/* A member of an object, the last of that name; none if there is none or `object` is no object. */
headgate_json headgate_json_member(headgate_json object, const char *name);
/* The elements or members one after the other: *place is 0 at first, and no business of the caller's afterwards. `key`
 * is a JSON string, none for elements. */
bool headgate_json_next(headgate_json container, size_t *place, headgate_json *key, headgate_json *value);
bool headgate_json_int(headgate_json value, int64_t *number); /* false if it is no whole number that fits */
bool headgate_json_bool(headgate_json value, bool fallback);     /* `fallback` if it is neither */
bool headgate_json_equals(headgate_json value, const char *text); /* whether it is a string of this text */
/* The text of a string, with a NUL behind it, to be freed; NULL if it is none. */
char *headgate_json_text(headgate_json value, size_t *length);

/* An answer of the daemon; headgate_answer_free when it has been read. */
typedef struct headgate_answer {
    headgate_json result;
    char *memory;
} headgate_answer;

void headgate_answer_free(headgate_answer *answer);

/* ---- The connection ---- */

typedef enum headgate_state {
    HEADGATE_CONNECTED,    /* the daemon has greeted */
    HEADGATE_DISCONNECTED, /* it was lost or could not be made; the client tries again while calls wait */
    HEADGATE_CLOSED        /* the client was stopped */
} headgate_state;

/* The options of a client. A member of 0 or NULL has its default. The hooks run as headgate_tracked does: they may
 * begin events, and must not wait for the client. */
typedef struct headgate_options {
    const char *name;             /* the program's name; needed */
    const char *version;
    const char *socket_path;      /* default: $HEADGATE_SOCKET, or below $XDG_RUNTIME_DIR, or below /run */
    const char *id_namespace;     /* the namespace of the ids; default: that of the user */
    bool gives_up;                /* true if the next two count as they are, and HEADGATE_FOREVER is without an end;
                                     else calls wait 10 s for the first connection, and for ever for one that was lost */
    long connect_timeout_ms;      /* how long calls wait for the first connection; one attempt is always made;
                                     a daemon that is found stopping counts as a lost connection */
    long reconnect_timeout_ms;    /* how long calls wait for a connection that was lost; 0 does not wait */
    long greeting_timeout_ms;     /* how long the daemon may take to answer `hello`: 10 000 */
    long close_timeout_ms;        /* how long headgate_close waits for answers: 5 000 */
    size_t max_unanswered;        /* how many calls may be unanswered: 16 384 */
    size_t max_unanswered_bytes;  /* and how many bytes: 8 MiB; one call is always let through */
    long backoff_base_ms;         /* about how long the first wait between two attempts to connect is: 50 */
    long backoff_cap_ms;          /* the longest wait between two attempts: 5 000 */
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

/* A client, which connects when it is first called; NULL if it cannot be made. */
headgate *headgate_open(const headgate_options *options, headgate_error *error);
/* Ends everything at once: running calls of other threads, and later ones, fail with `closed`. */
void headgate_stop(headgate *client);
/* Waits until all calls are answered, but no longer than close_timeout_ms, and logs how many were not; then stops and frees the
 * client. A program that ends without it loses what is not acknowledged. After headgate_stop it waits for nothing. No other
 * thread may be in any of the client's functions any more. */
void headgate_close(headgate *client);
/* The path of its socket. */
const char *headgate_socket_path(const headgate *client);

/* Runs the handlers that are due, or waits until there is one to be run. Returns how many ran, 0 when the time was over,
 * -1 when the client failed or is closed. Several threads may poll: then handlers run at the same time, but never two
 * of one watch. */
int headgate_poll(headgate *client, long deadline_ms, headgate_error *error);
/* Waits until all calls are answered, also those that were only begun: all events of this client are stored then. Elsewhere
 * this is called flush; headgate_flush has the daemon send what it has queued. */
bool headgate_drain(headgate *client, long deadline_ms, headgate_error *error);
/* Calls any method. `params` is a JSON object. When the connection breaks, methods that change nothing are called
 * again on the next one; others fail with `disconnected` if they had been written. */
bool headgate_call(headgate *client, const char *method, const char *params, long deadline_ms, headgate_answer *answer,
                   headgate_error *error);

/* ---- Tracking ---- */

typedef struct headgate_event {
    const char *event;              /* its name, not empty */
    const char *data;               /* a JSON object */
    const char *id;                 /* NULL has the client make one */
    const char *key;                /* the event's key; events with the same key are delivered in order */
    const char *time;               /* RFC 3339 */
    const char *const *dispatchers; /* ids; NULL is all that want it */
    size_t dispatcher_count;
    bool has_ttl;
    int64_t ttl_ms;                 /* if has_ttl: the time to live after the receipt */
} headgate_event;

/* An event is stored (Behaviour P1), or there is nothing to be stored. */
typedef struct headgate_receipt {
    char *id;       /* to be freed with headgate_receipt_free; not in a callback */
    int64_t seq;    /* its place among all events of the daemon; -1 if it is unrouted */
    bool duplicate; /* the daemon had stored this id before: by this call's first attempt, or by another event with the same id,
                       which may since have been delivered or purged, or have become a dead letter */
    bool unrouted;  /* no dispatcher wants it */
} headgate_receipt;

void headgate_receipt_free(headgate_receipt *receipt);

/* Tracks an event, and waits until it is acknowledged. */
bool headgate_track(headgate *client, const headgate_event *event, long deadline_ms, headgate_receipt *receipt,
                    headgate_error *error);
/* Called once with the outcome of an event: either `receipt` or `error` is NULL. Runs in whatever thread is in one of the
 * client's functions, one after the other; it may begin further events, and must not wait for the client. */
typedef void (*headgate_tracked)(void *context, const headgate_receipt *receipt, const headgate_error *error);
/* Tracks an event without waiting for its acknowledgement, which `tracked` is told. Events keep the order of these
 * calls. Waits only while too many are unanswered, at most until the deadline, and fails with `buffer_full` then. If it
 * gives false, nothing is told. */
bool headgate_track_begin(headgate *client, const headgate_event *event, long deadline_ms, headgate_tracked tracked,
                          void *context, headgate_error *error);
/* The same without any wait: it fails with `buffer_full` at once where there is no room. The event has no deadline. */
bool headgate_try_track(headgate *client, const headgate_event *event, headgate_tracked tracked, void *context,
                        headgate_error *error);
/* Tracks events all together: all are stored, or none. The result has ids, first_seq, last_seq, duplicates, unrouted. */
bool headgate_track_many(headgate *client, const headgate_event *events, size_t count, long deadline_ms,
                         headgate_answer *answer, headgate_error *error);

/* ---- Looking and operating ---- */

typedef struct headgate_flush_options {
    const char *const *dispatchers; /* NULL is all */
    size_t dispatcher_count;
    bool wait;                      /* whether to wait for the end; the result tells how it ended */
    bool has_timeout;
    int64_t timeout_ms;             /* if has_timeout: its longest duration; 0 is without an end */
    const char *flush;              /* an id to cancel it by */
} headgate_flush_options;

bool headgate_flush(headgate *client, const headgate_flush_options *options, long deadline_ms, headgate_answer *answer,
                    headgate_error *error);
bool headgate_dispatchers(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
bool headgate_pause(headgate *client, const char *dispatcher, const char *reason, bool flushable, long deadline_ms,
                    headgate_error *error);
bool headgate_resume(headgate *client, const char *dispatcher, long deadline_ms, headgate_error *error);
/* A limit or sequence number below 0, here and below, is none. */
bool headgate_peek(headgate *client, const char *dispatcher, int64_t limit, int64_t after_seq, long deadline_ms,
                   headgate_answer *answer, headgate_error *error);
bool headgate_purge(headgate *client, const char *dispatcher, int64_t before_seq, long deadline_ms, int64_t *purged,
                    headgate_error *error);
/* `after` is the JSON that a page before gave as `next`. */
bool headgate_dead_letters(headgate *client, const char *dispatcher, int64_t limit, const char *after, long deadline_ms,
                           headgate_answer *answer, headgate_error *error);
/* `letters` is a JSON array of what headgate_dead_letters gives as `letter`; NULL is all. */
bool headgate_dead_letters_requeue(headgate *client, const char *dispatcher, const char *letters, long deadline_ms,
                                   int64_t *count, headgate_error *error);
bool headgate_dead_letters_purge(headgate *client, const char *dispatcher, const char *letters, long deadline_ms,
                                 int64_t *count, headgate_error *error);
/* Announces foreground, background or exiting. What was announced last is announced again on each connection, but for
 * exiting. */
bool headgate_application_status(headgate *client, const char *status, long deadline_ms, headgate_error *error);

/* ---- Calls that are nothing but their params and their result ---- */

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
    const char *flushable;     /* "true", "false", or NULL: the default */
    const char *on_disconnect; /* "unregister", "open", "close", "keep" */
} headgate_barrier;

typedef struct headgate_barrier_change {
    const char *id;
    const char *state;      /* NULL: as it was */
    const char *flushable;  /* likewise */
    const char *dispatcher; /* only for this one */
    const char *reason;     /* for people */
} headgate_barrier_change;

bool headgate_barriers(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error);
/* Registers a barrier of this client's; it is registered again on each connection, as it was set last. A registration or a
 * change holds once the daemon has granted it: one that is refused leaves the barrier as it was. One that is not answered by
 * its deadline holds if it is granted later on the same connection. */
bool headgate_barrier_register(headgate *client, const headgate_barrier *barrier, long deadline_ms, headgate_error *error);
bool headgate_barrier_set(headgate *client, const headgate_barrier_change *change, long deadline_ms,
                          headgate_error *error);
/* Removes a barrier; with `force` that of another owner as well. One that stays when its connection is gone is removed as
 * soon as there is a connection again, also behind the deadline. */
bool headgate_barrier_unregister(headgate *client, const char *id, bool force, long deadline_ms, headgate_error *error);

/* ---- What the client is asked and told; the handlers run in headgate_poll ---- */

typedef enum headgate_news {
    HEADGATE_BEGAN,       /* the present state follows as changes, and replaces what was known before */
    HEADGATE_CHANGED,     /* `change` has the params of the notification */
    HEADGATE_INTERRUPTED, /* the connection is gone, for the reason in `error`; the watch begins again on the next one */
    HEADGATE_ENDED        /* nothing more comes, for the reason in `error` */
} headgate_news;

typedef void (*headgate_watcher)(void *context, headgate_news news, headgate_json change, const headgate_error *error);
/* Watches topics: "dispatchers", "barriers", "outcomes", "clients"; NULL is all. *watch is what to end it by. A watch
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
/* The outcome of one event, by its id as it stands in the event: "delivered", "retry" or "dead". */
bool headgate_reply_outcome(headgate_reply *reply, headgate_json event_id, const char *outcome);
/* Takes batches of a worker dispatcher (Behaviour K3), up to `credit` at once: no more of its handlers run at the same time,
 * whatever the number of threads that poll. A batch that has not begun when its connection is lost is dropped. */
bool headgate_subscribe(headgate *client, const char *dispatcher, int64_t credit, int64_t limit, headgate_work work,
                        void *context, long deadline_ms, headgate_error *error);
/* Takes no more; runs or waits for the handlers of the batches that are here. Not from its own handler. */
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
/* The output of a board: JSON. */
bool headgate_reply_output(headgate_reply *reply, headgate_json output);
/* Serves a board (Behaviour A1). `barrier` is a JSON object as in the protocol. */
bool headgate_serve_board(headgate *client, const char *board, const char *barrier, bool bypass_gateway, headgate_run run,
                          void *context, long deadline_ms, headgate_error *error);
/* The same for a board whose barrier `choose` puts out at each activation, a JSON object as in the protocol; with no output, or
 * HEADGATE_NOT_DONE, the activation has none (Behaviour A2). `activation` and `as_barrier` mean nothing there. */
bool headgate_serve_board_choosing(headgate *client, const char *board, headgate_run choose, bool bypass_gateway,
                                   headgate_run run, void *context, long deadline_ms, headgate_error *error);
bool headgate_unserve_board(headgate *client, const char *board, long deadline_ms, headgate_error *error);

typedef struct headgate_activate_options {
    const char *board;
    const char *input;     /* JSON */
    const char *mainboard;
    int64_t timeout_ms;    /* 0: the default */
    int64_t wait_ms;
} headgate_activate_options;

bool headgate_activate(headgate *client, const headgate_activate_options *options, long deadline_ms,
                       headgate_answer *answer, headgate_error *error);

#ifdef __cplusplus
}
#endif

#endif
