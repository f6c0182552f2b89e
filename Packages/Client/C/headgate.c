/* The client that headgate.h describes. Its parts, from the lowest: bytes, JSON, ids, calls, the connection, requests of the daemon,
 * the public functions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "headgate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SERVICE_ERROR = -32000, METHOD_NOT_FOUND = -32601, INVALID_PARAMS = -32602, INTERNAL_ERROR = -32603 };
/* The daemon accepts 1 024 levels of nesting. A message that delivers an event adds a few. */
enum { GREATEST_DEPTH = 1100, CHUNK = 1 << 16, LONGEST_BACKLOG = 4096, MOST_ASKED = 65536, MOST_CONFLICTS = 10 };
static const size_t longest_answer = (size_t)256 << 20;

/* ---- Bytes ---- */

typedef struct bytes {
    char *at;
    size_t length, capacity;
    const char *fault; /* why an append failed; NULL if none did */
    bool is_out_of_memory;
} bytes;

static bool reserve(bytes *to, size_t more) {
    if (to->capacity - to->length > more) return true;
    size_t capacity = to->capacity ? to->capacity : 256;
    while (capacity - to->length <= more) {
        if (capacity > SIZE_MAX / 2) goto failed;
        capacity *= 2;
    }
    char *grown = realloc(to->at, capacity);
    if (!grown) goto failed;
    to->at = grown;
    to->capacity = capacity;
    return true;
failed:
    to->fault = "out of memory";
    to->is_out_of_memory = true;
    return false;
}

static void put(bytes *to, const char *text, size_t length) {
    if (to->fault || !reserve(to, length)) return;
    if (length) memcpy(to->at + to->length, text, length);
    to->length += length;
    to->at[to->length] = 0;
}

static void put_text(bytes *to, const char *text) { put(to, text, strlen(text)); }

static void discard(bytes *some) {
    free(some->at);
    *some = (bytes){0};
}

static char *copy_of(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

/* The length of the UTF-8 sequence at the beginning, 0 if there is none (RFC 3629). */
static size_t sequence(const unsigned char *at, size_t left) {
    unsigned char first = at[0];
    if (first < 0x80) return 1;
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || left < length) return 0;
    for (size_t place = 1; place < length; place++)
        if ((at[place] & 0xC0) != 0x80) return 0;
    if (first == 0xE0 && at[1] < 0xA0) return 0;
    if (first == 0xED && at[1] > 0x9F) return 0;
    if (first == 0xF0 && at[1] < 0x90) return 0;
    if (first == 0xF4 && at[1] > 0x8F) return 0;
    return length;
}

/* Copies as many whole UTF-8 characters as fit into `room` bytes. */
static void cut(char *to, size_t room, const char *text) {
    size_t length = strlen(text);
    if (length >= room) {
        length = room - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    }
    memcpy(to, text, length);
    to[length] = 0;
}

static void set_error(headgate_error *error, int code, const char *reason, const char *message, const char *path) {
    if (!error) return;
    error->code = code;
    cut(error->reason, sizeof error->reason, reason);
    cut(error->message, sizeof error->message, message);
    cut(error->path, sizeof error->path, path);
}

/* Returns an error of the client itself, with a reason and a message. */
static headgate_error local_error(const char *reason, const char *message) {
    headgate_error error;
    set_error(&error, 0, reason, message, "");
    return error;
}

/* Returns an error of the client itself. Its message joins several parts. */
static headgate_error joined_error(const char *reason, const char *const *parts) {
    bytes message = {0};
    while (*parts) put_text(&message, *parts++);
    headgate_error error = local_error(reason, message.at ? message.at : "");
    discard(&message);
    return error;
}

static bool fail(headgate_error *error, const char *reason, const char *message) {
    set_error(error, 0, reason, message, "");
    return false;
}

/* ---- JSON: reading ---- */

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

/* Returns the value of four hexadecimal digits, or -1 if they are not there. */
static long hex_unit(const char *at, const char *end) {
    if (end - at < 4) return -1;
    long unit = 0;
    for (int place = 0; place < 4; place++) {
        int digit = hex_digit(at[place]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Each scan function returns the end of one JSON token or value, or NULL if there is none at `at`. */
static const char *scan_string(const char *at, const char *end) {
    for (at++; at < end;) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"') return at + 1;
        if (byte < 0x20) return NULL;
        if (byte != '\\') {
            size_t length = sequence((const unsigned char *)at, (size_t)(end - at));
            if (length == 0) return NULL;
            at += length;
            continue;
        }
        if (++at == end || !*at || !strchr("\"\\/bfnrtu", *at)) return NULL;
        if (*at == 'u' && hex_unit(at + 1, end) < 0) return NULL;
        at += *at == 'u' ? 5 : 1;
    }
    return NULL;
}

static bool is_digit(const char *at, const char *end) { return at < end && *at >= '0' && *at <= '9'; }

static const char *scan_digits(const char *at, const char *end) {
    if (!is_digit(at, end)) return NULL;
    while (is_digit(at, end)) at++;
    return at;
}

static const char *scan_number(const char *at, const char *end) {
    if (at < end && *at == '-') at++;
    at = at < end && *at == '0' ? at + 1 : scan_digits(at, end);
    if (at && at < end && *at == '.') at = scan_digits(at + 1, end);
    if (at && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = scan_digits(at, end);
    }
    return at;
}

static const char *scan_word(const char *at, const char *end, const char *word) {
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static const char *scan_container(const char *at, const char *end, int depth, int *deepest);

static const char *scan_value(const char *at, const char *end, int depth, int *deepest) {
    if (at == end) return NULL;
    switch (*at) {
    case '"': return scan_string(at, end);
    case '{':
    case '[': return scan_container(at, end, depth - 1, deepest);
    case 't': return scan_word(at, end, "true");
    case 'f': return scan_word(at, end, "false");
    case 'n': return scan_word(at, end, "null");
    default: return scan_number(at, end);
    }
}

/* `depth` is the number of levels that are still allowed. *deepest becomes the smallest number that was left. */
static const char *scan_container(const char *at, const char *end, int depth, int *deepest) {
    if (depth < 0) return NULL;
    if (depth < *deepest) *deepest = depth;
    char close = *at == '{' ? '}' : ']';
    at = skip_space(at + 1, end);
    if (at < end && *at == close) return at + 1;
    for (;;) {
        if (close == '}') {
            if (at == end || *at != '"' || !(at = scan_string(at, end))) return NULL;
            at = skip_space(at, end);
            if (at == end || *at != ':') return NULL;
            at = skip_space(at + 1, end);
        }
        if (!(at = scan_value(at, end, depth, deepest))) return NULL;
        at = skip_space(at, end);
        if (at == end) return NULL;
        if (*at == close) return at + 1;
        if (*at != ',') return NULL;
        at = skip_space(at + 1, end);
    }
}

/* Checks a JSON text as headgate_json_check does, and also returns its nesting depth. */
static bool check(const char *text, size_t length, int max_depth, headgate_json *value, int *depth) {
    const char *end = text + length, *begin = skip_space(text, end);
    int left = max_depth;
    const char *behind = scan_value(begin, end, max_depth, &left);
    if (!behind || skip_space(behind, end) != end) return false;
    if (value) *value = (headgate_json){begin, (size_t)(behind - begin)};
    if (depth) *depth = max_depth - left;
    return true;
}

bool headgate_json_check(const char *text, size_t length, int max_depth, headgate_json *value) {
    return check(text, length, max_depth < GREATEST_DEPTH ? max_depth : GREATEST_DEPTH, value, NULL);
}

headgate_json_kind headgate_json_kind_of(headgate_json value) {
    if (!value.text || value.length == 0) return HEADGATE_NONE;
    switch (value.text[0]) {
    case '"': return HEADGATE_STRING;
    case '{': return HEADGATE_OBJECT;
    case '[': return HEADGATE_ARRAY;
    case 't':
    case 'f': return HEADGATE_BOOL;
    case 'n': return HEADGATE_NULL;
    default: return HEADGATE_NUMBER;
    }
}

static bool is_kind(headgate_json value, headgate_json_kind kind) { return headgate_json_kind_of(value) == kind; }

bool headgate_json_next(headgate_json container, size_t *place, headgate_json *key, headgate_json *value) {
    bool is_object = is_kind(container, HEADGATE_OBJECT);
    if ((!is_object && !is_kind(container, HEADGATE_ARRAY)) || *place >= container.length) return false;
    const char *end = container.text + container.length, *at = skip_space(container.text + *place + (*place == 0), end);
    if (at < end && *at == ',') at = skip_space(at + 1, end);
    if (at == end || *at == '}' || *at == ']') return false;
    if (key) *key = (headgate_json){0};
    if (is_object) {
        const char *behind = *at == '"' ? scan_string(at, end) : NULL;
        if (!behind) return false;
        if (key) *key = (headgate_json){at, (size_t)(behind - at)};
        at = skip_space(behind, end);
        if (at == end) return false;
        at = skip_space(at + 1, end);
    }
    int deepest = GREATEST_DEPTH;
    const char *behind = scan_value(at, end, GREATEST_DEPTH, &deepest);
    if (!behind) return false;
    if (value) *value = (headgate_json){at, (size_t)(behind - at)};
    *place = (size_t)(behind - container.text);
    return true;
}

headgate_json headgate_json_member(headgate_json object, const char *name) {
    headgate_json found = {0}, key, value;
    if (!is_kind(object, HEADGATE_OBJECT)) return found;
    for (size_t place = 0; headgate_json_next(object, &place, &key, &value);)
        if (headgate_json_equals(key, name)) found = value;
    return found;
}

bool headgate_json_int(headgate_json value, int64_t *number) {
    if (!is_kind(value, HEADGATE_NUMBER)) return false;
    bool is_negative = value.text[0] == '-';
    int64_t sum = 0;
    for (size_t place = is_negative; place < value.length; place++) {
        int digit = value.text[place] - '0';
        if (digit < 0 || digit > 9 || sum < (INT64_MIN + digit) / 10) return false;
        sum = sum * 10 - digit;
    }
    if (!is_negative && sum == INT64_MIN) return false;
    *number = is_negative ? sum : -sum;
    return true;
}

bool headgate_json_bool(headgate_json value, bool fallback) {
    return is_kind(value, HEADGATE_BOOL) ? value.text[0] == 't' : fallback;
}

static size_t put_scalar(char *to, unsigned long scalar) {
    if (scalar < 0x80) return to[0] = (char)scalar, 1;
    if (scalar < 0x800) return to[0] = (char)(0xC0 | scalar >> 6), to[1] = (char)(0x80 | (scalar & 0x3F)), 2;
    if (scalar < 0x10000) {
        to[0] = (char)(0xE0 | scalar >> 12), to[1] = (char)(0x80 | (scalar >> 6 & 0x3F));
        return to[2] = (char)(0x80 | (scalar & 0x3F)), 3;
    }
    to[0] = (char)(0xF0 | scalar >> 18), to[1] = (char)(0x80 | (scalar >> 12 & 0x3F));
    return to[2] = (char)(0x80 | (scalar >> 6 & 0x3F)), to[3] = (char)(0x80 | (scalar & 0x3F)), 4;
}

/* Returns the scalar of an escape `uXXXX`, or of a surrogate pair of two escapes. A lone surrogate is U+FFFD. */
static unsigned long escaped_scalar(const char **at, const char *end) {
    long unit = hex_unit(*at + 1, end);
    *at += 5;
    if (unit < 0xD800 || unit > 0xDFFF) return (unsigned long)unit;
    long low = unit < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' ? hex_unit(*at + 2, end) : -1;
    if (low < 0xDC00 || low > 0xDFFF) return 0xFFFD;
    *at += 6;
    return 0x10000 + ((unsigned long)(unit - 0xD800) << 10) + (unsigned long)(low - 0xDC00);
}

char *headgate_json_text(headgate_json value, size_t *length) {
    if (!is_kind(value, HEADGATE_STRING) || value.length < 2) return NULL;
    char *text = malloc(value.length); /* an escape is never shorter than the bytes that it stands for */
    if (!text) return NULL;
    size_t count = 0;
    static const char names[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    for (const char *at = value.text + 1, *end = value.text + value.length - 1; at < end;) {
        if (*at != '\\') {
            text[count++] = *at++;
            continue;
        }
        at++;
        const char *name = strchr(names, *at);
        if (*at == 'u') {
            count += put_scalar(text + count, escaped_scalar(&at, end));
        } else {
            text[count++] = name ? meanings[name - names] : *at;
            at++;
        }
    }
    text[count] = 0;
    if (length) *length = count;
    return text;
}

bool headgate_json_equals(headgate_json value, const char *text) {
    if (!is_kind(value, HEADGATE_STRING)) return false;
    size_t length = strlen(text);
    if (!memchr(value.text, '\\', value.length))
        return value.length == length + 2 && memcmp(value.text + 1, text, length) == 0;
    size_t count;
    char *decoded = headgate_json_text(value, &count);
    bool is_equal = decoded && count == length && memcmp(decoded, text, length) == 0;
    free(decoded);
    return is_equal;
}

void headgate_answer_free(headgate_answer *answer) {
    if (!answer) return;
    free(answer->memory);
    *answer = (headgate_answer){{0}, NULL};
}

/* ---- JSON: writing ---- */

/* Writes a comma, unless an object, array or member has just begun. */
static void put_comma(bytes *to) {
    if (to->length && !strchr("{[:", to->at[to->length - 1])) put(to, ",", 1);
}

static void put_string(bytes *to, const char *text, size_t length) {
    put(to, "\"", 1);
    for (size_t place = 0; place < length && !to->fault;) {
        unsigned char byte = (unsigned char)text[place];
        size_t count = sequence((const unsigned char *)text + place, length - place);
        char escape[8];
        if (count == 0) {
            to->fault = "a text is not UTF-8";
        } else if (byte == '"' || byte == '\\') {
            put(to, (char[]){'\\', (char)byte}, 2);
        } else if (byte < 0x20) {
            put(to, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", byte));
        } else {
            put(to, text + place, count);
        }
        place += count;
    }
    put(to, "\"", 1);
}

/* Writes JSON of the caller. Line ends between its values are replaced: they would end the message. */
static void put_json(bytes *to, const char *text, headgate_json_kind kind, const char *complaint) {
    headgate_json value;
    if (to->fault) return;
    if (!headgate_json_check(text, strlen(text), GREATEST_DEPTH, &value)
        || (kind != HEADGATE_NONE && !is_kind(value, kind))) {
        to->fault = complaint;
        return;
    }
    size_t begin = to->length;
    put(to, value.text, value.length);
    for (size_t place = begin; !to->fault && place < to->length; place++)
        if (to->at[place] == '\n' || to->at[place] == '\r') to->at[place] = ' ';
}

static void put_name(bytes *to, const char *name) {
    put_comma(to);
    put_string(to, name, strlen(name));
    put(to, ":", 1);
}

/* These functions write the members of params. A member that is NULL is left out. */
static void member_text(bytes *to, const char *name, const char *text) {
    if (!text) return;
    put_name(to, name);
    put_string(to, text, strlen(text));
}

static void member_int(bytes *to, const char *name, int64_t number) {
    char digits[24];
    put_name(to, name);
    put(to, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number));
}

static void member_limit(bytes *to, const char *name, int64_t number) {
    if (number >= 0) member_int(to, name, number);
}

static void member_true(bytes *to, const char *name, bool is_so) {
    if (!is_so) return;
    put_name(to, name);
    put_text(to, "true");
}

static void member_json(bytes *to, const char *name, const char *json, headgate_json_kind kind, const char *complaint) {
    if (!json) return;
    put_name(to, name);
    put_json(to, json, kind, complaint);
}

static void member_flag(bytes *to, const char *name, const char *word) {
    member_json(to, name, word, HEADGATE_BOOL, "flushable must be true or false");
}

static void member_texts(bytes *to, const char *name, const char *const *texts, size_t count) {
    if (!texts) return;
    put_name(to, name);
    put(to, "[", 1);
    for (size_t place = 0; place < count; place++) {
        put_comma(to);
        put_string(to, texts[place], strlen(texts[place]));
    }
    put(to, "]", 1);
}

/* ---- Calls ---- */

typedef struct service service;

/* A change of a barrier that the daemon has not granted. */
typedef struct change {
    service *barrier; /* NULL once the barrier is gone */
    headgate_barrier_change to; /* its texts are copies */
    struct change *next;
} change;

/* A request that is neither answered nor cancelled. Its number is the request's id on every connection. */
typedef struct call {
    int64_t number;
    bytes line; /* the message with its LF */
    int depth;
    bool is_repeatable, is_written, is_done, is_ok;
    int64_t deadline;   /* nanoseconds; INT64_MAX is never */
    int64_t postponed;  /* the moment before which the call is not written */
    headgate_answer answer;
    headgate_error error;
    headgate_tracked tracked; /* the callback of an unattended call */
    void *context;
    bool is_unattended; /* no caller waits for it */
    bool is_event;      /* an unattended call that tracks an event */
    service *service;   /* the service of a standing call, which is repeated on each connection; else NULL */
    bool is_granted;
    bool is_late;  /* a watch that was cancelled after it was written: if it begins, it is ended */
    change *change; /* the change of a barrier that the call asks for; it holds once the daemon grants it */
    bool is_bound; /* true if the call is valid on the present connection only */
    struct call *next_told;
} call;

typedef enum service_kind { BARRIER, WATCH, WORKER, BOARD, STATUS } service_kind;

typedef struct exception {
    char *dispatcher, *state, *reason;
    struct exception *next;
} exception;

/* A service (worker, board, watch, barrier or status). It lasts as long as a connection, and is requested again on the next one. */
struct service {
    service_kind kind;
    char *name;
    call *call;
    bool was_granted;
    bool is_awaited;      /* true while a caller waits for the grant */
    headgate_error error; /* why the service was not granted */
    char *watch; /* the daemon's id for a watch; NULL while it does not watch */
    size_t backlog;
    int64_t runs, most_runs; /* the number of its handlers that run, and the most that may run at the same time */
    int jobs;        /* queued or running, and the functions that still need it */
    bool is_gone;
    union {
        headgate_watcher watcher;
        headgate_work work;
        headgate_run run;
    } handler;
    headgate_run choose; /* chooses the barrier of each activation of a board; NULL if the board has none or a fixed one */
    void *context;
    bool was_asked; /* true if the daemon may have had the request, on any connection */
    bool is_ending; /* true for the removal of a barrier that an earlier connection may own */
    int conflicts;  /* the number of conflicts: refusals because another connection owns the barrier */
    bool is_refused; /* true if the daemon refused the service after it was granted, and has not granted it since */
    /* The barrier's latest granted state, and the changes that are not granted yet. */
    char *state, *flushable, *scopes, *on_disconnect, *reason;
    exception *exceptions;
    change *changes;
    service *next;
};

/* A request or message of the daemon whose handler has not run yet. */
typedef struct job {
    service *service;
    headgate_news news;
    bool is_choice; /* true if the job chooses the barrier of an activation */
    uint64_t generation;
    char *id;     /* the request's, as JSON */
    char *params; /* as JSON */
    size_t params_length;
    headgate_error error;
    struct job *next;
} job;

typedef struct slot {
    int64_t number;
    call *call; /* NULL if it has gone */
} slot;

/* A state, a refusal or a log line that waits for the program's hook. */
typedef struct notice {
    enum { STATE, REFUSAL, LINE } kind;
    headgate_state state;
    const char *method;
    char *text; /* the name of what is refused, or the line */
    headgate_error error;
    struct notice *next;
} notice;

typedef enum phase { IDLE, GREETING, OPEN, DRAINING, WAITING, CLOSED } phase;

struct headgate {
    char *path;
    pid_t process; /* the process that opened the client: a forked process must not use its connection */
    headgate_options options;
    bytes hello;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_led;       /* some thread waits for the connection */
    pthread_t leader;
    bool is_telling;   /* the leader runs callbacks */
    int wake[2];
    uint64_t random;
    uint64_t last_moment, last_random; /* the time and the counter of the last id */

    phase phase;
    int64_t until;     /* the moment at which WAITING or GREETING ends */
    int64_t patience;  /* the moment after which no attempt begins; -1 while none is needed */
    int failures;
    bool was_connected;
    headgate_error last_failure;
    headgate_state state;
    bool has_state; /* true once a state was reported */
    bool has_warned;
    bool is_relearning; /* true while the client leaves a connection because the daemon's limits have changed */
    bool has_relearned; /* true if it did so since a call was answered */
    size_t limit_bytes;
    int limit_depth;

    slot *slots; /* in the order of their numbers */
    size_t slot_head, slot_count, slot_capacity, live;
    size_t standing;
    size_t given_up; /* dropped events without a waiting caller, because the client could not connect */
    size_t held_bytes, unanswered, unanswered_bytes;
    size_t next_to_write; /* no slot before this one waits to be written */
    int64_t last_number, earliest;
    call *told, **told_end; /* the ended calls whose callbacks have not run */
    notice *notices, **notices_end;

    int socket;
    uint64_t generation;
    bytes input, output;
    size_t output_sent;
    service *services;
    job *jobs, **jobs_end;
    size_t job_count;
    size_t owed; /* requests of the daemon on this connection that are not answered */
};

/* ---- Threads that enter and leave ---- */

static bool is_foreign(const headgate *client) { return getpid() != client->process; }

/* Takes the lock for a thread that enters the client. The thread cannot be cancelled until it leaves: other threads wait for the
 * work that it does. */
static bool enter(headgate *client, int *cancelling, headgate_error *error) {
    if (!client) return fail(error, "misuse", "there is no client: headgate_open failed");
    if (is_foreign(client))
        return fail(error, "misuse", "the client belongs to another process: open a new one after fork()");
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancelling);
    pthread_mutex_lock(&client->lock);
    return true;
}

/* Returns true if a function has its arguments; otherwise nothing is requested. */
static bool is_given(bool is_there, headgate_error *error) {
    return is_there || fail(error, "misuse", "a required argument is NULL");
}

static void leave(headgate *client, int cancelling) {
    pthread_mutex_unlock(&client->lock);
    pthread_setcancelstate(cancelling, NULL);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t after(long milliseconds) {
    if (milliseconds < 0 || milliseconds > INT64_MAX / 4000000) return INT64_MAX;
    return now() + (int64_t)milliseconds * 1000000;
}

/* Returns a random number by SplitMix64 (Steele, Lea and Flood). */
static uint64_t random_number(headgate *client) {
    uint64_t word = client->random += 0x9E3779B97F4A7C15u;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

/* Makes a UUIDv7 (RFC 9562) that is greater than all earlier ones of this client. */
static void make_id(headgate *client, char text[37]) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    uint64_t moment = (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
    if (moment > client->last_moment) {
        client->last_moment = moment;
        getentropy(&client->last_random, sizeof client->last_random);
        client->last_random >>= 1; /* room to count on within the millisecond */
    } else {
        client->last_random += 1 + (random_number(client) & 0xFFFFFFFF);
        if (client->last_random < (uint64_t)1 << 32) client->last_moment++;
    }
    /* The counter has the 12 bits after the time and 52 of the other 62. The last 10 bits are random. */
    uint64_t high = client->last_moment << 16 | 0x7000 | client->last_random >> 52;
    uint64_t low = (uint64_t)2 << 62 | (client->last_random & (((uint64_t)1 << 52) - 1)) << 10
        | (random_number(client) & 0x3FF);
    snprintf(text, 37, "%08lx-%04lx-%04lx-%04lx-%012llx", (unsigned long)(high >> 32),
             (unsigned long)(high >> 16 & 0xFFFF), (unsigned long)(high & 0xFFFF), (unsigned long)(low >> 48),
             (unsigned long long)(low & 0xFFFFFFFFFFFF));
}

static void free_change(change *gone) {
    if (!gone) return;
    free((char *)gone->to.id), free((char *)gone->to.state), free((char *)gone->to.flushable);
    free((char *)gone->to.dispatcher), free((char *)gone->to.reason);
    free(gone);
}

static void free_notice(notice *gone) { free(gone->text), free(gone); }

static void free_call(call *gone) {
    free_change(gone->change);
    discard(&gone->line);
    headgate_answer_free(&gone->answer);
    free(gone);
}

static void free_exceptions(service *barrier) {
    for (exception *one = barrier->exceptions, *next; one; one = next) {
        next = one->next;
        free(one->dispatcher), free(one->state), free(one->reason), free(one);
    }
    barrier->exceptions = NULL;
}

static void free_service(service *gone) {
    free_exceptions(gone);
    free(gone->name), free(gone->watch), free(gone->state), free(gone->flushable), free(gone->scopes);
    free(gone->on_disconnect), free(gone->reason);
    free(gone);
}

static void free_job(job *gone) {
    free(gone->id), free(gone->params), free(gone);
}

/* ---- The table of calls ---- */

static bool add_slot(headgate *client, call *added) {
    if (client->slot_count == client->slot_capacity) {
        size_t kept = 0;
        if (client->live * 2 <= client->slot_count) { /* half of the slots are free */
            for (size_t place = client->slot_head; place < client->slot_count; place++)
                if (client->slots[place].call) client->slots[kept++] = client->slots[place];
            client->slot_head = 0, client->slot_count = kept, client->next_to_write = 0;
        }
        if (client->slot_count == client->slot_capacity) {
            size_t capacity = client->slot_capacity ? client->slot_capacity * 2 : 64;
            slot *grown = realloc(client->slots, capacity * sizeof *grown);
            if (!grown) return false;
            client->slots = grown, client->slot_capacity = capacity;
        }
    }
    client->slots[client->slot_count++] = (slot){added->number, added};
    client->live++;
    return true;
}

static slot *find_slot(headgate *client, int64_t number) {
    size_t low = client->slot_head, high = client->slot_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (client->slots[middle].number < number) low = middle + 1;
        else high = middle;
    }
    return low < client->slot_count && client->slots[low].number == number ? &client->slots[low] : NULL;
}

static call *find_call(headgate *client, int64_t number) {
    slot *found = find_slot(client, number);
    return found ? found->call : NULL;
}

static void unmark(headgate *client, call *some) {
    if (!some->is_written) return;
    some->is_written = false;
    client->unanswered--;
    client->unanswered_bytes -= some->line.length;
}

static void forget_call(headgate *client, call *gone) {
    slot *found = find_slot(client, gone->number);
    if (!found || !found->call) return;
    unmark(client, gone);
    found->call = NULL;
    client->live--;
    client->standing -= gone->service != NULL;
    client->held_bytes -= gone->line.length;
    while (client->slot_head < client->slot_count && !client->slots[client->slot_head].call) client->slot_head++;
    if (client->slot_head == client->slot_count) client->slot_head = client->slot_count = client->next_to_write = 0;
    pthread_cond_broadcast(&client->changed);
}

static void wake_leader(headgate *client) {
    if (client->is_led && !pthread_equal(client->leader, pthread_self())) {
        ssize_t written = write(client->wake[1], "w", 1); /* a full pipe wakes too */
        (void)written;
    }
}

static bool has_room(headgate *client) {
    return client->live < client->options.max_unanswered && client->held_bytes < client->options.max_unanswered_bytes;
}

/* ---- Outcomes of calls ---- */

static void end_service(headgate *client, service *ended, const headgate_error *error);
static void settle_change(headgate *client, change *settled, bool is_granted);

/* Ends a call: its caller may read the outcome. The callback of a call without a waiting caller is called later. */
static void conclude(headgate *client, call *done) {
    forget_call(client, done);
    done->is_done = true;
    if (done->change) settle_change(client, done->change, done->is_ok);
    if (!done->is_unattended) return;
    done->next_told = NULL;
    *client->told_end = done;
    client->told_end = &done->next_told;
}

static void finish_failed(headgate *client, call *failed, const headgate_error *error) {
    service *standing = failed->service;
    failed->error = *error;
    failed->is_ok = false;
    conclude(client, failed);
    if (!standing) return;
    standing->call = NULL;
    free_call(failed);
    end_service(client, standing, error);
}

/* Keeps a cancelled request for a watch until it is answered. The daemon grants it, and only the answer has the id that ends it. */
static void await_late(headgate *client, call *watch) {
    client->standing--;
    watch->service = NULL;
    watch->is_repeatable = false;
    watch->is_late = watch->is_unattended = true;
    watch->deadline = INT64_MAX;
}

static bool is_late_watch(const call *some) {
    return some->service && some->service->kind == WATCH && some->is_written;
}

static void deny(headgate *client, service *awaited, const headgate_error *error);

/* Returns true for a service that a newer one replaces only when the daemon grants the newer one. */
static bool is_replaceable(const service *some) { return some->kind == BARRIER || some->kind == STATUS; }

static void give_up(headgate *client, call *some, const headgate_error *error) {
    service *standing = some->service;
    if (standing && is_replaceable(standing) && !standing->is_ending && some->is_written) {
        /* The daemon may grant it later on this connection. The client does not ask again on the next one. */
        some->deadline = INT64_MAX;
        some->is_repeatable = false;
        deny(client, standing, error);
        return;
    }
    if (!is_late_watch(some)) {
        finish_failed(client, some, error);
        return;
    }
    await_late(client, some);
    standing->call = NULL;
    end_service(client, standing, error);
}

static void finish_answered(headgate *client, call *answered, headgate_json result) {
    answered->answer.memory = copy_of(result.text, result.length);
    if (!answered->answer.memory) {
        headgate_error error = local_error("no_memory", "out of memory");
        finish_failed(client, answered, &error);
        return;
    }
    answered->answer.result = (headgate_json){answered->answer.memory, result.length};
    answered->is_ok = true;
    conclude(client, answered);
}

static void fail_all(headgate *client, headgate_error error) {
    for (size_t place = client->slot_head; place < client->slot_count; place++)
        if (client->slots[place].call) finish_failed(client, client->slots[place].call, &error);
}

/* ---- Reports to the program ---- */

static void add_notice(headgate *client, notice told, const char *text) {
    notice *added = malloc(sizeof *added);
    char *copy = text ? copy_of(text, strlen(text)) : NULL;
    if (!added || (text && !copy)) {
        free(added), free(copy);
        return;
    }
    *added = told;
    added->text = copy;
    added->next = NULL;
    *client->notices_end = added;
    client->notices_end = &added->next;
}

static void log_line(headgate *client, const char *const *parts) {
    bytes line = {0};
    while (*parts) put_text(&line, *parts++);
    if (line.at) add_notice(client, (notice){.kind = LINE}, line.at);
    discard(&line);
}

static void tell_state(headgate *client, headgate_state state, const headgate_error *error) {
    if (client->has_state && client->state == state) return;
    client->has_state = true;
    client->state = state;
    if (!client->options.on_state) return;
    notice told = {.kind = STATE, .state = state};
    if (error) told.error = *error;
    add_notice(client, told, NULL);
}

/* Reports that a connection is wanted and cannot be made. It is logged once until a call is answered again. */
static void tell_missing(headgate *client, const headgate_error *error) {
    client->last_failure = *error;
    tell_state(client, HEADGATE_DISCONNECTED, error);
    if (client->has_warned) return;
    client->has_warned = true;
    log_line(client, (const char *[]){error->message, NULL});
}

/* Calls the hook for a notice. The caller does not hold the lock. */
static void deliver_notice(headgate *client, const notice *told) {
    const headgate_options *options = &client->options;
    switch (told->kind) {
    case STATE:
        options->on_state(options->hook_context, told->state, told->state == HEADGATE_DISCONNECTED ? &told->error : NULL);
        break;
    case REFUSAL: options->on_refused(options->hook_context, told->method, told->text, &told->error); break;
    case LINE:
        if (options->log) options->log(options->hook_context, told->text);
        else fprintf(stderr, "headgate: %s\n", told->text);
    }
}

/* Fails with a text. Without a connection, the text also says why there is none. */
static bool fail_because(headgate *client, headgate_error *error, const char *reason, const char *text) {
    bool has_failure = client->phase != OPEN && client->phase != DRAINING && *client->last_failure.reason;
    headgate_error made = joined_error(
        reason, (const char *[]){text, has_failure ? ": " : NULL, client->last_failure.message, NULL});
    if (error) *error = made;
    return false;
}

/* ---- Jobs ---- */

static job *queue_job(headgate *client, service *whose, headgate_news news, headgate_json params) {
    job *queued = calloc(1, sizeof *queued);
    if (!queued) return NULL;
    queued->service = whose, queued->news = news, queued->generation = client->generation;
    if (params.text && !(queued->params = copy_of(params.text, params.length))) {
        free(queued);
        return NULL;
    }
    queued->params_length = params.length;
    whose->jobs++;
    *client->jobs_end = queued;
    client->jobs_end = &queued->next;
    client->job_count++;
    pthread_cond_broadcast(&client->changed);
    return queued;
}

static void release_service(service *some) {
    if (some->is_gone && some->jobs == 0) free_service(some);
}

static void end_job(headgate *client, job *ended) {
    service *whose = ended->service;
    whose->jobs--;
    free_job(ended);
    release_service(whose);
    pthread_cond_broadcast(&client->changed);
}

/* Takes the jobs of a service out of the queue. */
static void drop_jobs(headgate *client, service *whose) {
    for (job **at = &client->jobs; *at;) {
        job *one = *at;
        if (one->service != whose) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        whose->jobs--;
        client->job_count--;
        if (one->id && one->generation == client->generation) client->owed--;
        free_job(one);
    }
    client->jobs_end = &client->jobs;
    while (*client->jobs_end) client->jobs_end = &(*client->jobs_end)->next;
}

/* Drops the requests of a lost connection: the daemon gives their batches to another worker, or to this one again. */
static void drop_asked(headgate *client) {
    for (job **at = &client->jobs; *at;) {
        job *one = *at;
        if (!one->id) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        client->job_count--;
        end_job(client, one);
    }
    client->jobs_end = &client->jobs;
    while (*client->jobs_end) client->jobs_end = &(*client->jobs_end)->next;
}

/* ---- Services ---- */

static service *find_service(headgate *client, service_kind kind, headgate_json name) {
    for (service *one = client->services; one; one = one->next)
        if (one->kind == kind && headgate_json_equals(name, one->name)) return one;
    return NULL;
}

static service *named_service(headgate *client, service_kind kind, const char *name) {
    for (service *one = client->services; one; one = one->next)
        if (one->kind == kind && strcmp(one->name, name) == 0) return one;
    return NULL;
}

static void unlink_service(headgate *client, service *gone) {
    if (gone->is_gone) return;
    for (service **at = &client->services; *at; at = &(*at)->next) {
        if (*at != gone) continue;
        *at = gone->next;
        break;
    }
    gone->is_gone = true;
    gone->call = NULL;
    for (; gone->changes; gone->changes = gone->changes->next) gone->changes->barrier = NULL;
    release_service(gone);
}

/* Returns true if the daemon ends the service with its connection; some barriers stay. */
static bool ends_with_connection(const service *some) {
    return !some->on_disconnect || strcmp(some->on_disconnect, "unregister") == 0;
}

/* Reports to the waiting caller that its service is not granted. */
static void deny(headgate *client, service *awaited, const headgate_error *error) {
    awaited->is_awaited = false;
    awaited->error = *error;
    pthread_cond_broadcast(&client->changed);
}

/* Ends a service with an error: for the caller that waits for it, or else by a job for the handler of a watch. */
static void end_service(headgate *client, service *ended, const headgate_error *error) {
    if (ended->is_awaited) {
        deny(client, ended, error);
        return;
    }
    /* If only this client cancelled the removal, the next call that removes the service does it again. */
    if (ended->is_ending && !error->code) return;
    job *last = ended->kind == WATCH ? queue_job(client, ended, HEADGATE_ENDED, (headgate_json){0}) : NULL;
    if (last) last->error = *error;
    unlink_service(client, ended);
}

static call *begin_unattended(headgate *client, const char *method, bytes *params, service *standing);

/* Begins a call that is valid on the present connection only. It has one member, and no caller waits for it. */
static void tell_bound(headgate *client, const char *method, const char *member, const char *value) {
    bytes params = {0};
    put_text(&params, "{");
    member_text(&params, member, value);
    put_text(&params, "}");
    call *told = params.fault ? NULL : begin_unattended(client, method, &params, NULL);
    if (told) told->is_bound = true;
    else discard(&params);
}

/* Ends a watch on the present connection only: the next connection uses the same ids again. Frees the id. */
static void unwatch(headgate *client, char *watch) {
    tell_bound(client, "unwatch", "watch", watch);
    free(watch);
}

static void unwatch_service(headgate *client, service *watch) {
    unwatch(client, watch->watch);
    watch->watch = NULL;
}

static void news_of(headgate *client, service *watch, headgate_news news, headgate_json change,
                    const headgate_error *error) {
    if (watch->backlog >= LONGEST_BACKLOG && watch->call && watch->call->is_granted) {
        drop_jobs(client, watch);
        watch->backlog = 0;
        unwatch_service(client, watch);
        watch->call->is_granted = false;
        client->next_to_write = client->slot_head;
        return;
    }
    job *queued = queue_job(client, watch, news, change);
    if (!queued) return;
    watch->backlog++;
    if (error) queued->error = *error;
}

static void put_change(bytes *to, const headgate_barrier_change *change) {
    put_text(to, "{");
    member_text(to, "id", change->id);
    member_text(to, "state", change->state);
    member_flag(to, "flushable", change->flushable);
    member_text(to, "dispatcher", change->dispatcher);
    member_text(to, "reason", change->reason);
    put_text(to, "}");
}

/* Adds the changes of a barrier to its registration, which resets them. Both go in one piece, so that no event passes in
 * between. The answers are ignored. */
static void put_further(headgate *client, bytes *to, const char *method, const headgate_barrier_change *change) {
    put_text(to, "{\"jsonrpc\":\"2.0\"");
    member_int(to, "id", ++client->last_number);
    member_text(to, "method", method);
    put_name(to, "params");
    put_change(to, change);
    put_text(to, "}\n");
}

static bool withdraw(headgate *client, service *gone);

/* Forgets the services that were granted before under the same name. */
static void replace_earlier(headgate *client, const service *by) {
    for (service *one = client->services, *next; one; one = next) {
        next = one->next;
        if (one == by || one->kind != by->kind || !one->was_granted || strcmp(one->name, by->name) != 0) continue;
        withdraw(client, one);
        unlink_service(client, one);
    }
}

static void granted(headgate *client, call *some, headgate_json result) {
    service *whose = some->service;
    if (whose->is_ending) {
        whose->was_granted = true, whose->is_awaited = false;
        forget_call(client, some);
        free_call(some);
        unlink_service(client, whose);
        return;
    }
    bool is_first = !whose->was_granted;
    unmark(client, some);
    if (is_first && is_replaceable(whose)) replace_earlier(client, whose);
    some->is_repeatable = true;
    whose->is_refused = false;
    if (whose->kind == WATCH) {
        free(whose->watch);
        if (!(whose->watch = headgate_json_text(headgate_json_member(result, "watch"), NULL))) {
            headgate_error error = local_error("bad_answer", "the result of watch has no id");
            finish_failed(client, some, &error);
            return;
        }
        news_of(client, whose, HEADGATE_BEGAN, (headgate_json){0}, NULL);
    }
    some->is_granted = true;
    whose->was_granted = true;
    if (is_first) {
        whose->is_awaited = false;
        some->deadline = INT64_MAX;
        pthread_cond_broadcast(&client->changed);
    }
}

/* ---- Connecting ---- */

static void rest(headgate *client) {
    client->phase = IDLE;
    client->patience = -1;
}

/* Fails all calls; the next one tries to connect again. Closing reports how many of them were events without a waiting caller. */
static void give_up_connecting(headgate *client, headgate_error error) {
    for (size_t place = client->slot_head; place < client->slot_count; place++) {
        const call *some = client->slots[place].call;
        client->given_up += some && some->is_event;
    }
    rest(client);
    fail_all(client, error);
}

static void disconnect(headgate *client) {
    if (client->socket >= 0) close(client->socket);
    client->socket = -1;
    client->generation++;
    client->input.length = client->output.length = client->output_sent = 0;
    client->owed = 0;
    client->is_relearning = false;
    drop_asked(client);
}

static void retry(headgate *client) {
    client->failures++;
    if (!client->live) {
        rest(client);
        return;
    }
    int64_t moment = now();
    if (client->patience < 0) client->patience = after(client->options.reconnect_timeout_ms);
    if (moment >= client->patience) {
        give_up_connecting(client, client->last_failure);
        return;
    }
    /* The wait is random, between half and all of the longest: clients that lost the daemon together do not reconnect together. */
    int64_t longest = client->options.backoff_base_ms, cap = client->options.backoff_cap_ms;
    for (int count = 1; count < client->failures && longest < cap; count++) longest *= 2;
    longest = (longest < cap ? longest : cap) * 1000000;
    int64_t until = moment + longest - (int64_t)(random_number(client) % (uint64_t)(longest / 2 + 1));
    client->until = until < client->patience ? until : client->patience;
    client->phase = WAITING;
}

static void could_not_connect(headgate *client, headgate_error error) {
    disconnect(client);
    tell_missing(client, &error);
    retry(client);
}

/* Fails all calls after an error that waiting does not cure. A client that was connected once waits all the same: while a daemon restarts,
 * its folder may be shut for a moment. */
static void met_fault(headgate *client, headgate_error error) {
    if (client->was_connected) {
        could_not_connect(client, error);
        return;
    }
    disconnect(client);
    tell_missing(client, &error);
    give_up_connecting(client, error);
}

static bool is_permanent(int fault) {
    static const int permanent[] = {EACCES, EPERM, ENAMETOOLONG, ENOTDIR, ELOOP, EPROTOTYPE, EINVAL, ENOTSOCK, EAFNOSUPPORT};
    for (size_t place = 0; place < sizeof permanent / sizeof *permanent; place++)
        if (permanent[place] == fault) return true;
    return false;
}

static headgate_error cannot_connect(headgate *client, const char *cause) {
    return joined_error("cannot_connect", (const char *[]){"cannot connect to ", client->path, ": ", cause, NULL});
}

static void close_on_exec(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

static void attempt(headgate *client) {
    if (!client->live) {
        rest(client);
        return;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(client->path);
    if (length >= sizeof address.sun_path) {
        met_fault(client, cannot_connect(client, "the path is too long for a socket"));
        return;
    }
    memcpy(address.sun_path, client->path, length);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor >= 0) close_on_exec(descriptor);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        char text[128];
        int fault = errno;
        const char *cause = fault == ENOENT ? "no such socket" : strerror_r(fault, text, sizeof text);
        headgate_error error = cannot_connect(client, cause);
        if (descriptor >= 0) close(descriptor);
        if (is_permanent(fault)) met_fault(client, error);
        else could_not_connect(client, error);
        return;
    }
    client->socket = descriptor;
    client->generation++;
    client->phase = GREETING;
    client->until = after(client->options.greeting_timeout_ms);
    put(&client->output, client->hello.at, client->hello.length);
}

static void seek(headgate *client) {
    long patience = client->was_connected ? client->options.reconnect_timeout_ms : client->options.connect_timeout_ms;
    client->patience = after(patience);
    client->phase = WAITING;
    client->until = 0;
}

static bool renew_registration(headgate *client, service *barrier);

/* Handles a lost connection: puts repeatable calls back into the queue, and fails the others. */
static void lose(headgate *client, headgate_error error) {
    disconnect(client);
    client->last_failure = error;
    tell_state(client, HEADGATE_DISCONNECTED, &error);
    for (size_t place = client->slot_head; place < client->slot_count; place++) {
        call *one = client->slots[place].call;
        if (!one) continue;
        if (one->is_granted && one->service->kind == WATCH) {
            free(one->service->watch);
            one->service->watch = NULL;
            one->is_granted = false;
            news_of(client, one->service, HEADGATE_INTERRUPTED, (headgate_json){0}, &error);
        }
        one->is_granted = false;
        one->postponed = 0;
        if (one->is_bound || (one->is_written && !one->is_repeatable)) {
            finish_failed(client, one, &error);
            continue;
        }
        unmark(client, one);
        if (one->service && one->service->is_ending) renew_registration(client, one->service);
    }
    client->next_to_write = client->slot_head;
    retry(client);
}

static headgate_error broken(void) {
    return local_error("disconnected", "the connection was lost before the answer came");
}

static void got_nonsense(headgate *client, const char *text) {
    headgate_error error = joined_error("bad_answer", (const char *[]){"malformed answer from the daemon: ", text, NULL});
    if (client->phase == GREETING) {
        could_not_connect(client, error);
        return;
    }
    if (client->phase != OPEN && client->phase != DRAINING) return;
    /* The client cannot tell which call a malformed message is about. Repeating the written calls might cause it again, without end. */
    for (size_t place = client->slot_head; place < client->slot_count; place++) {
        call *one = client->slots[place].call;
        if (one && one->is_written) finish_failed(client, one, &error);
    }
    lose(client, error);
}

/* Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting. */
static void found_stopping(headgate *client, const char *cause) {
    if (!client->was_connected) client->patience = -1;
    client->was_connected = true;
    could_not_connect(client, cannot_connect(client, cause));
}

static void greeting_refused(headgate *client, const headgate_error *error) {
    if (client->phase != GREETING) return;
    if (strcmp(error->reason, "shutting_down") == 0) {
        found_stopping(client, error->message);
        return;
    }
    if (strcmp(error->reason, "limit") == 0) {
        could_not_connect(client, cannot_connect(client, error->message));
        return;
    }
    disconnect(client);
    tell_missing(client, error);
    give_up_connecting(client, *error);
}

static void greeted(headgate *client, headgate_json result) {
    if (client->phase != GREETING) return;
    headgate_json limits = headgate_json_member(result, "limits");
    int64_t most;
    client->limit_bytes = 1048576, client->limit_depth = 64;
    if (headgate_json_int(headgate_json_member(limits, "max_line_bytes"), &most) && most > 0)
        client->limit_bytes = (size_t)most;
    if (headgate_json_int(headgate_json_member(limits, "max_depth"), &most) && most > 0)
        client->limit_depth = most < INT_MAX ? (int)most : INT_MAX;
    /* The connect timeout counts for the first connection only. */
    if (!client->was_connected) client->patience = -1;
    client->was_connected = true;
    client->last_failure = (headgate_error){0, "", "", ""};
    client->phase = OPEN;
    tell_state(client, HEADGATE_CONNECTED, NULL);
}

static void closing(headgate *client) {
    if (client->phase == OPEN) client->phase = DRAINING;
    if (client->phase == GREETING) found_stopping(client, "the daemon is stopping");
}

static void disconnected(headgate *client) {
    if (client->phase == GREETING) {
        could_not_connect(client, cannot_connect(client, "the daemon closed the connection"));
        return;
    }
    lose(client, broken());
}

/* ---- Writing ---- */

static bool write_call(headgate *client, call *some) {
    headgate_error fault = {SERVICE_ERROR, "", "", ""};
    if (some->line.length - 1 > client->limit_bytes) {
        cut(fault.reason, sizeof fault.reason, "line_too_long");
        snprintf(fault.message, sizeof fault.message, "the message is longer than the %zu bytes that the daemon accepts",
                 client->limit_bytes);
    } else if (some->depth > client->limit_depth) {
        cut(fault.reason, sizeof fault.reason, "limit");
        snprintf(fault.message, sizeof fault.message, "nested deeper than the %d levels that the daemon accepts",
                 client->limit_depth);
    }
    if (*fault.reason) return finish_failed(client, some, &fault), true;
    put(&client->output, some->line.at, some->line.length);
    if (client->output.fault) {
        client->output.fault = NULL; /* what is not written yet makes room */
        return false;
    }
    some->is_written = true;
    if (some->service) some->service->was_asked = true;
    client->unanswered++;
    client->unanswered_bytes += some->line.length;
    return true;
}

static void send_output(headgate *client) {
    while (client->socket >= 0 && client->output_sent < client->output.length) {
        size_t left = client->output.length - client->output_sent;
        ssize_t sent = send(client->socket, client->output.at + client->output_sent, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return; /* reading notices a lost connection, after the daemon's last messages */
        client->output_sent += (size_t)sent;
    }
    client->output.length = client->output_sent = 0;
}

/* Writes calls to the output while it has room, or ends a connection that has nothing left to write or answer. */
static void proceed(headgate *client) {
    bool is_done = client->unanswered == 0 || client->is_relearning;
    if (client->phase == DRAINING && is_done && client->owed == 0) {
        send_output(client);
        if (client->output.length == 0) lose(client, broken());
    }
    int64_t moment = now();
    if (client->next_to_write < client->slot_head) client->next_to_write = client->slot_head;
    for (size_t place = client->next_to_write; client->phase == OPEN && place < client->slot_count; place++) {
        if (client->unanswered >= client->options.max_unanswered
            || client->unanswered_bytes >= client->options.max_unanswered_bytes) break;
        call *one = client->slots[place].call;
        if (one && !one->is_written && !one->is_granted && one->postponed <= moment && !write_call(client, one)) break;
        /* A call that failed may have emptied the table. */
        client->next_to_write = place < client->slot_count ? place + 1 : 0;
    }
    send_output(client);
}

/* The call that ends a service at the daemon. */
static const struct {
    const char *method, *member;
} leaves[] = {[WORKER] = {"dispatcher.unsubscribe", "id"}, [BOARD] = {"board.unserve", "board"}};

/* A cancelled request may still be granted. The service is ended at once, which does not affect later requests: the daemon
 * handles one after the other. */
static void give_back_late(headgate *client, int64_t moment) {
    for (service *one = client->services; one; one = one->next) {
        bool is_served = one->kind == WORKER || one->kind == BOARD;
        if (!is_served || !one->call || !one->call->is_written || one->call->deadline > moment) continue;
        tell_bound(client, leaves[one->kind].method, leaves[one->kind].member, one->name);
    }
}

static void pass_time(headgate *client) {
    int64_t moment = now();
    if (client->earliest <= moment) {
        give_back_late(client, moment); /* first: it changes the slots */
        bool is_connected = client->phase == OPEN || client->phase == DRAINING;
        headgate_error late = local_error("timed_out", "no answer came in time");
        headgate_error error = is_connected || !*client->last_failure.reason ? late : client->last_failure;
        client->earliest = INT64_MAX;
        for (size_t place = client->slot_head; place < client->slot_count; place++) {
            call *one = client->slots[place].call;
            if (!one) continue;
            if (one->deadline <= moment) {
                give_up(client, one, &error);
                continue;
            }
            if (one->postponed && one->postponed <= moment) one->postponed = 0, client->next_to_write = 0;
            if (one->deadline < client->earliest) client->earliest = one->deadline;
            if (one->postponed && one->postponed < client->earliest) client->earliest = one->postponed;
        }
    }
    if (client->phase == WAITING && client->until <= moment) attempt(client);
    else if (client->phase == GREETING && client->until <= moment)
        could_not_connect(client, cannot_connect(client, "connected, but the daemon does not answer"));
}

/* ---- Messages of the daemon ---- */

/* Reads the error of an answer. Returns false if it is not a JSON-RPC error. */
static bool read_error(headgate_json from, headgate_error *error) {
    int64_t code;
    headgate_json data = headgate_json_member(from, "data");
    if (!headgate_json_int(headgate_json_member(from, "code"), &code) || code < INT_MIN || code > INT_MAX) return false;
    char *message = headgate_json_text(headgate_json_member(from, "message"), NULL);
    char *reason = headgate_json_text(headgate_json_member(data, "reason"), NULL);
    char *path = headgate_json_text(headgate_json_member(data, "path"), NULL);
    if (message) set_error(error, (int)code, reason ? reason : "", message, path ? path : "");
    bool is_error = message != NULL;
    free(message), free(reason), free(path);
    return is_error;
}

static void note_progress(headgate *client) {
    client->failures = 0;
    client->patience = -1;
    client->has_warned = false;
    if (!client->is_relearning) client->has_relearned = false;
}

/* Returns true if a refused service is requested again after a conflict: the daemon may not have noticed yet that the earlier connection
 * is gone. A barrier that is being removed may belong to another client by now. */
static bool outlasts_conflict(service *some) {
    return some && (some->was_granted || (some->is_ending && ++some->conflicts < MOST_CONFLICTS));
}

/* Reports that the daemon refuses on a later connection a service that it granted before. It is reported once until the daemon
 * grants the service again. */
static void tell_refused(headgate *client, service *whose, const headgate_error *error) {
    static const char *const methods[] = {[BARRIER] = "barrier.register", [WATCH] = "watch",
                                          [WORKER] = "dispatcher.subscribe", [BOARD] = "board.serve",
                                          [STATUS] = "application.status"};
    const char *method = methods[whose->kind];
    if (whose->is_refused) return;
    whose->is_refused = true;
    log_line(client, (const char *[]){"the daemon refuses ", method, *whose->name ? " of " : "", whose->name,
                                      ", and the client repeats the request: ", error->message, NULL});
    if (client->options.on_refused)
        add_notice(client, (notice){.kind = REFUSAL, .method = method, .error = *error}, whose->name);
}

static void refused(headgate *client, call *some, const headgate_error *error) {
    if (strcmp(error->reason, "shutting_down") == 0 && some->is_repeatable) {
        unmark(client, some);
        client->phase = DRAINING;
        return;
    }
    note_progress(client);
    bool is_conflict = strcmp(error->reason, "conflict") == 0;
    bool is_later = some->service && some->service->was_granted && !some->service->is_ending;
    if (is_later && !is_conflict) tell_refused(client, some->service, error);
    if (is_later || (is_conflict && outlasts_conflict(some->service))) {
        unmark(client, some);
        some->postponed = after(client->options.backoff_cap_ms);
        if (some->postponed < client->earliest) client->earliest = some->postponed;
        return;
    }
    finish_failed(client, some, error);
}

static void answered(headgate *client, int64_t number, headgate_json result, const headgate_error *error) {
    call *some = find_call(client, number);
    if (!some || !some->is_written) return; /* its caller no longer waits */
    if (!result.text) {
        refused(client, some, error);
        return;
    }
    note_progress(client);
    if (!is_kind(result, HEADGATE_OBJECT)) {
        headgate_error bad = local_error("bad_answer", "the result is not an object");
        finish_failed(client, some, &bad);
        return;
    }
    if (some->service) {
        granted(client, some, result);
        return;
    }
    char *late = some->is_late ? headgate_json_text(headgate_json_member(result, "watch"), NULL) : NULL;
    finish_answered(client, some, result);
    if (late) unwatch(client, late);
}

/* Leaves a connection whose daemon takes less than its greeting said: the next greeting has the new limits. The client answers the
 * daemon's requests first. Returns false if that happened before without an answer in between. */
static bool relearn(headgate *client, const headgate_error *error) {
    bool is_limit = strcmp(error->reason, "line_too_long") == 0 || strcmp(error->reason, "limit") == 0;
    bool is_connected = client->phase == OPEN || client->phase == DRAINING;
    if (client->is_relearning || !is_limit || !is_connected || client->has_relearned) return client->is_relearning;
    client->is_relearning = client->has_relearned = true;
    client->phase = DRAINING;
    return true;
}

static void take_response(headgate *client, headgate_json message) {
    headgate_json result = headgate_json_member(message, "result"), fault = headgate_json_member(message, "error");
    headgate_json id = headgate_json_member(message, "id");
    headgate_error error;
    int64_t number;
    if (!result.text == !fault.text || (fault.text && !read_error(fault, &error))) {
        got_nonsense(client, "a line that is not a message");
        return;
    }
    bool is_numbered = headgate_json_int(id, &number);
    if (!is_numbered && (is_kind(id, HEADGATE_NULL) || !id.text) && fault.text) {
        if (client->phase == GREETING) greeting_refused(client, &error);
        else if (!relearn(client, &error)) got_nonsense(client, error.message);
        return;
    }
    if (!is_numbered) {
        got_nonsense(client, "an answer without a request");
        return;
    }
    if (number != 0) {
        answered(client, number, result, &error);
        return;
    }
    if (fault.text) greeting_refused(client, &error);
    else greeted(client, result);
}

static void put_error(bytes *to, headgate_json id, int code, const char *message, const char *key, const char *word) {
    put_text(to, "{\"jsonrpc\":\"2.0\",\"id\":");
    put(to, id.text, id.length);
    put_text(to, ",\"error\":{");
    member_int(to, "code", code);
    member_text(to, "message", message);
    if (key) {
        put_name(to, "data");
        put_text(to, "{");
        member_text(to, key, word);
        put_text(to, "}");
    }
    put_text(to, "}}\n");
}

/* Writes an answer, unless the connection of its request is gone. */
static void answer(headgate *client, uint64_t generation, bytes *line) {
    if (generation == client->generation) client->owed--;
    if (generation == client->generation && (client->phase == OPEN || client->phase == DRAINING) && !line->fault) {
        put(&client->output, line->at, line->length);
        if (client->output.fault) lose(client, broken()); /* half an answer must not be written */
        client->output.fault = NULL;
        wake_leader(client);
        if (!client->is_led) proceed(client);
    }
    discard(line);
}

/* Replaces an answer that is longer or deeper than the daemon takes by an error. */
static void fit_answer(headgate *client, const char *id, bytes *line) {
    int depth = 0;
    bool is_read = !line->fault && check(line->at, line->length, GREATEST_DEPTH, NULL, &depth);
    if (is_read && line->length - 1 <= client->limit_bytes && depth <= client->limit_depth) return;
    static const char fault[] = "the answer is longer or deeper than the daemon accepts";
    log_line(client, (const char *[]){fault, NULL});
    discard(line);
    put_error(line, (headgate_json){id, strlen(id)}, INTERNAL_ERROR, fault, NULL, NULL);
}

static void take_request(headgate *client, headgate_json message, headgate_json method, headgate_json id) {
    headgate_json params = headgate_json_member(message, "params");
    bool is_dispatch = headgate_json_equals(method, "dispatch"), is_choice = headgate_json_equals(method, "board.barrier");
    bool is_run = headgate_json_equals(method, "board.run") || is_choice;
    const char *member = is_dispatch ? "dispatcher" : "board";
    headgate_json name = headgate_json_member(params, member);
    bytes line = {0};
    client->owed++;
    if (!is_dispatch && !is_run) {
        put_error(&line, id, METHOD_NOT_FOUND, "there is no such method", NULL, NULL);
    } else if (!is_kind(name, HEADGATE_STRING)) {
        put_error(&line, id, INVALID_PARAMS, "a name is missing", "path", member);
    } else {
        service *found = find_service(client, is_dispatch ? WORKER : BOARD, name);
        if (found && is_choice && !found->choose) found = NULL;
        job *queued = found && client->job_count < MOST_ASKED
            ? queue_job(client, found, HEADGATE_CHANGED, params) : NULL;
        if (queued) queued->is_choice = is_choice;
        if (queued && (queued->id = copy_of(id.text, id.length))) return;
        /* A job without an id is not run. */
        put_error(&line, id, SERVICE_ERROR, found ? "too many requests wait for this handler" : "this client does not serve it",
                  "reason", found ? "limit" : "not_found");
    }
    answer(client, client->generation, &line);
}

static void take_change(headgate *client, headgate_json params) {
    headgate_json id = headgate_json_member(params, "watch");
    for (service *one = client->services; one; one = one->next) {
        if (one->kind != WATCH || !one->watch || !headgate_json_equals(id, one->watch)) continue;
        news_of(client, one, HEADGATE_CHANGED, params, NULL);
        return;
    }
}

static void take(headgate *client, headgate_json message) {
    headgate_json method = headgate_json_member(message, "method"), id = headgate_json_member(message, "id");
    if (!headgate_json_equals(headgate_json_member(message, "jsonrpc"), "2.0")) {
        got_nonsense(client, "a line that is not a message");
        return;
    }
    if (!method.text) {
        take_response(client, message);
        return;
    }
    if (!is_kind(method, HEADGATE_STRING)) {
        got_nonsense(client, "a line that is not a message");
        return;
    }
    if (id.text) {
        take_request(client, message, method, id);
        return;
    }
    if (headgate_json_equals(method, "closing")) closing(client);
    if (headgate_json_equals(method, "changed")) take_change(client, headgate_json_member(message, "params"));
}

static void take_line(headgate *client, const char *line, size_t length) {
    headgate_json message, element;
    const char *end = line + length;
    if (skip_space(line, end) == end) return;
    if (!headgate_json_check(line, length, GREATEST_DEPTH, &message)) {
        got_nonsense(client, "a line that is not JSON");
        return;
    }
    if (!is_kind(message, HEADGATE_ARRAY)) {
        take(client, message);
        return;
    }
    uint64_t generation = client->generation;
    for (size_t place = 0; generation == client->generation && headgate_json_next(message, &place, NULL, &element);)
        take(client, element);
}

/* Handles the complete lines of the input. The input is set aside meanwhile: each line may end the connection. */
static void take_lines(headgate *client) {
    bytes lines = client->input;
    uint64_t generation = client->generation;
    size_t begin = 0;
    client->input = (bytes){0};
    for (char *end; (end = memchr(lines.at + begin, '\n', lines.length - begin)) && generation == client->generation;) {
        take_line(client, lines.at + begin, (size_t)(end - (lines.at + begin)));
        begin = (size_t)(end - lines.at) + 1;
    }
    if (generation != client->generation) {
        discard(&lines);
        return;
    }
    memmove(lines.at, lines.at + begin, lines.length - begin);
    lines.length -= begin;
    client->input = lines;
}

static void read_input(headgate *client) {
    bytes *input = &client->input;
    if (!reserve(input, CHUNK)) {
        input->fault = NULL;
        lose(client, local_error("no_memory", "out of memory"));
        return;
    }
    ssize_t count = recv(client->socket, input->at + input->length, CHUNK, 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (count <= 0) {
        disconnected(client);
        return;
    }
    bool has_end = memchr(input->at + input->length, '\n', (size_t)count) != NULL;
    input->length += (size_t)count;
    if (has_end) take_lines(client);
    else if (input->length > longest_answer) got_nonsense(client, "a line that is too long");
}

/* ---- Waiting ---- */

static void tell_receipt(call *done, char **id) {
    headgate_receipt receipt = {0};
    headgate_json result = done->answer.result;
    headgate_error bad = local_error("bad_answer", "the result of track has no id");
    if (!done->is_ok) {
        done->tracked(done->context, NULL, &done->error);
        return;
    }
    *id = receipt.id = headgate_json_text(headgate_json_member(result, "id"), NULL);
    if (!headgate_json_int(headgate_json_member(result, "seq"), &receipt.seq)) receipt.seq = -1;
    receipt.duplicate = headgate_json_bool(headgate_json_member(result, "duplicate"), false);
    receipt.unrouted = headgate_json_bool(headgate_json_member(result, "unrouted"), false);
    if (receipt.id) done->tracked(done->context, &receipt, NULL);
    else done->tracked(done->context, NULL, &bad);
}

/* The calls and notices that a thread reports. Another thread reports the rest if a callback ends this one. */
typedef struct telling {
    headgate *client;
    call *calls;
    notice *notices;
    call *call; /* the call whose function runs at this moment */
    notice *notice;
    char *id;
} telling;

static void end_one(telling *of) {
    if (of->notice) free_notice(of->notice);
    if (of->call) free_call(of->call);
    free(of->id);
    of->notice = NULL, of->call = NULL, of->id = NULL;
}

static void tell_one(telling *of) {
    if ((of->notice = of->notices)) {
        of->notices = of->notice->next;
        deliver_notice(of->client, of->notice);
    } else {
        of->call = of->calls;
        of->calls = of->call->next_told;
        if (of->call->tracked) tell_receipt(of->call, &of->id);
    }
    end_one(of);
}

/* Puts the calls and notices that were not reported back before newer ones. */
static void stop_telling(void *context) {
    telling *of = context;
    headgate *client = of->client;
    end_one(of);
    pthread_mutex_lock(&client->lock);
    call **last = &of->calls;
    while (*last) last = &(*last)->next_told;
    if ((*last = client->told)) last = client->told_end;
    client->told = of->calls;
    client->told_end = client->told ? last : &client->told;
    notice **latest = &of->notices;
    while (*latest) latest = &(*latest)->next;
    if ((*latest = client->notices)) latest = client->notices_end;
    client->notices = of->notices;
    client->notices_end = client->notices ? latest : &client->notices;
    client->is_telling = client->is_led = false;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

static void tell_each(telling *of) {
    pthread_cleanup_push(stop_telling, of);
    while (of->notices || of->calls) tell_one(of);
    pthread_cleanup_pop(0);
}

/* Runs the callbacks of calls that have ended and of notices, outside the lock: they may begin other events. */
static bool tell_all(headgate *client) {
    telling of = {.client = client, .calls = client->told, .notices = client->notices};
    if (!of.calls && !of.notices) return false;
    client->told = NULL;
    client->told_end = &client->told;
    client->notices = NULL;
    client->notices_end = &client->notices;
    client->is_telling = true;
    pthread_mutex_unlock(&client->lock);
    tell_each(&of);
    pthread_mutex_lock(&client->lock);
    client->is_telling = false;
    pthread_cond_broadcast(&client->changed); /* wakes threads that wait until all callbacks have run */
    return true;
}

static void wait_for_input(headgate *client, int64_t moment) {
    if ((client->phase == WAITING || client->phase == GREETING) && client->until < moment) moment = client->until;
    if (client->earliest < moment) moment = client->earliest;
    int64_t left = moment == INT64_MAX ? -1 : (moment - now() + 999999) / 1000000;
    int timeout = left < 0 ? (moment == INT64_MAX ? -1 : 0) : left < INT_MAX ? (int)left : INT_MAX;
    bool has_output = client->output_sent < client->output.length;
    uint64_t generation = client->generation;
    struct pollfd watched[2] = {{.fd = client->wake[0], .events = POLLIN},
                                {.fd = client->socket, .events = (short)(POLLIN | (has_output ? POLLOUT : 0))}};
    nfds_t count = client->socket >= 0 ? 2 : 1;
    pthread_mutex_unlock(&client->lock);
    int ready = poll(watched, count, timeout);
    pthread_mutex_lock(&client->lock);
    char woken[64];
    if (ready > 0 && watched[0].revents)
        while (read(client->wake[0], woken, sizeof woken) == (ssize_t)sizeof woken) continue;
    bool has_input = watched[1].revents & (POLLIN | POLLHUP | POLLERR);
    if (ready > 0 && has_input && client->socket >= 0 && generation == client->generation) read_input(client);
}

/* Does the work that is due without waiting. */
static void go_on(headgate *client) {
    pass_time(client);
    proceed(client);
}

/* Runs the work that one waiting thread does for all, once, after `go_on`. Waits at most until the moment. */
static void turn(headgate *client, int64_t moment) {
    client->is_led = true;
    client->leader = pthread_self();
    /* A function that was called may have made the condition true. */
    if (!tell_all(client)) {
        wait_for_input(client, moment);
        go_on(client);
        tell_all(client);
    }
    client->is_led = false;
}

static void wait_for_change(headgate *client, int64_t moment) {
    if (moment == INT64_MAX) {
        pthread_cond_wait(&client->changed, &client->lock);
        return;
    }
    struct timespec time = {.tv_sec = (time_t)(moment / 1000000000), .tv_nsec = (long)(moment % 1000000000)};
    pthread_cond_timedwait(&client->changed, &client->lock, &time);
}

static bool is_in_callback(headgate *client) {
    return client->is_telling && pthread_equal(client->leader, pthread_self());
}

typedef bool (*condition)(headgate *client, const void *what);

/* Waits until a condition is true. Returns false if the moment comes first, or the client is closed. */
static bool wait_until(headgate *client, condition is_so, const void *what, int64_t moment) {
    bool has_led = false;
    bool is = is_so(client, what);
    while (!is && client->phase != CLOSED && now() < moment) {
        if (client->is_led) {
            wait_for_change(client, moment);
        } else {
            has_led = true;
            go_on(client);
            if (!(is = is_so(client, what))) turn(client, moment);
        }
        is = is_so(client, what);
    }
    if (has_led) pthread_cond_broadcast(&client->changed); /* another thread takes over the work */
    return is;
}

static bool call_is_done(headgate *client, const void *what) { return (void)client, ((const call *)what)->is_done; }
static bool service_is_settled(headgate *client, const void *what) {
    return (void)client, !((const service *)what)->is_awaited;
}
static bool room_is_there(headgate *client, const void *what) { return (void)what, has_room(client); }
static bool all_is_answered(headgate *client, const void *what) {
    return (void)what, client->live == client->standing && !client->told && !client->is_telling;
}

/* Returns the first job that may run. A watch runs one handler at a time, a worker as many as its credit. */
static job **next_job(headgate *client, const service *only) {
    for (job **at = &client->jobs; *at; at = &(*at)->next) {
        const service *whose = (*at)->service;
        if (whose->runs < whose->most_runs && (!only || whose == only)) return at;
    }
    return NULL;
}

static bool job_is_due(headgate *client, const void *only) { return next_job(client, only) != NULL; }

typedef struct call_or_job {
    const call *call;
    const service *service;
} call_or_job;

static bool call_or_job_is(headgate *client, const void *what) {
    const call_or_job *either = what;
    return either->call->is_done || job_is_due(client, either->service);
}

/* ---- Making calls ---- */

/* written by Tools/protocol: repeatable */
static const char *const repeatable_methods[] = {
    "ping", "rights", "rpc.discover", "flush.list", "status", "barrier.list", "dispatcher.list", "queue.peek",
    "dead_letters.list", "config.get", "metrics", "event.trace", "client.list"
};
/* end of what Tools/protocol has written */

static bool is_repeatable(const char *method) {
    for (size_t place = 0; place < sizeof repeatable_methods / sizeof *repeatable_methods; place++)
        if (strcmp(method, repeatable_methods[place]) == 0) return true;
    return false;
}

static bool make_line(call *some, const char *method, const bytes *params) {
    bytes line = {0};
    put_text(&line, "{\"jsonrpc\":\"2.0\"");
    member_int(&line, "id", some->number);
    member_text(&line, "method", method);
    put_name(&line, "params");
    put(&line, params->at, params->length);
    put_text(&line, "}\n");
    if (line.fault || !check(line.at, line.length, GREATEST_DEPTH + 1, NULL, &some->depth)) return discard(&line), false;
    discard(&some->line);
    some->line = line;
    return true;
}

/* Adds a call to the table. The caller holds the lock. Frees params, unless it fails. */
static call *begin(headgate *client, const char *method, bytes *params, service *standing, int64_t deadline) {
    call *some = calloc(1, sizeof *some);
    if (!some) return NULL;
    some->number = client->last_number + 1;
    some->deadline = deadline;
    some->service = standing;
    some->is_repeatable = standing || is_repeatable(method);
    if (!make_line(some, method, params) || !add_slot(client, some)) {
        free_call(some);
        return NULL;
    }
    discard(params);
    client->last_number++;
    client->held_bytes += some->line.length;
    client->standing += standing != NULL;
    if (standing) standing->call = some;
    if (deadline < client->earliest) client->earliest = deadline;
    if (client->phase == IDLE) seek(client);
    wake_leader(client);
    return some;
}

static call *begin_unattended(headgate *client, const char *method, bytes *params, service *standing) {
    if (client->phase == CLOSED) return NULL;
    call *some = begin(client, method, params, standing, INT64_MAX);
    if (some) some->is_unattended = true;
    return some;
}

/* Returns true if a call can be begun; else writes the reason to *error and frees params. The caller holds the lock. */
static bool may_begin(headgate *client, bytes *params, headgate_error *error) {
    const char *reason = NULL, *message = params->fault;
    if (params->fault) reason = params->is_out_of_memory ? "no_memory" : "misuse";
    else if (client->phase == CLOSED) reason = "closed", message = "the client is closed";
    else if (is_in_callback(client)) reason = "misuse", message = "a callback must not wait for the client";
    if (!reason) return true;
    discard(params);
    return fail(error, reason, message);
}

static bool finish_call(call *done, headgate_answer *answer, headgate_error *error) {
    bool is_ok = done->is_ok;
    if (is_ok && answer) {
        *answer = done->answer;
        done->answer = (headgate_answer){{0}, NULL};
    }
    if (!is_ok && error) *error = done->error;
    free_call(done);
    return is_ok;
}

/* Begins a call, and waits for its answer. If it ends a service, runs its handlers meanwhile. Frees params. */
static bool perform(headgate *client, const char *method, bytes *params, bool is_repeated, service *handled,
                    long deadline_ms, headgate_answer *answer, headgate_error *error);

static bool ask(headgate *client, const char *method, bytes *params, long deadline_ms, headgate_answer *answer,
                headgate_error *error) {
    int cancelling;
    put_text(params, "}");
    if (!enter(client, &cancelling, error)) return discard(params), false;
    bool is_ok = perform(client, method, params, false, NULL, deadline_ms, answer, error);
    leave(client, cancelling);
    return is_ok;
}

static bytes params_begin(void) {
    bytes params = {0};
    put_text(&params, "{");
    return params;
}

/* ---- Running handlers ---- */

struct headgate_reply {
    bytes outcomes, output;
};

bool headgate_reply_outcome(headgate_reply *reply, headgate_json event_id, const char *outcome) {
    static const char *const known[] = {"delivered", "retry", "dead"};
    if (!is_kind(event_id, HEADGATE_STRING)) return false;
    for (size_t place = 0; place < sizeof known / sizeof *known; place++) {
        if (strcmp(outcome, known[place]) != 0) continue;
        if (reply->outcomes.length) put(&reply->outcomes, ",", 1);
        put(&reply->outcomes, event_id.text, event_id.length);
        put(&reply->outcomes, ":", 1);
        put_string(&reply->outcomes, outcome, strlen(outcome));
        return !reply->outcomes.fault;
    }
    return false;
}

bool headgate_reply_output(headgate_reply *reply, headgate_json output) {
    char *copy = output.text ? copy_of(output.text, output.length) : NULL;
    reply->output.length = 0;
    if (copy) put_json(&reply->output, copy, HEADGATE_NONE, "output is not JSON");
    free(copy);
    return copy && !reply->output.fault;
}

static bool run_worker(service *whose, headgate_json params, headgate_reply *reply, bytes *result) {
    headgate_batch batch = {
        .dispatcher = headgate_json_member(params, "dispatcher"), .batch = headgate_json_member(params, "batch"),
        .attempt = 1, .events = headgate_json_member(params, "events")};
    headgate_json_int(headgate_json_member(params, "attempt"), &batch.attempt);
    if (!whose->handler.work(whose->context, &batch, reply) || reply->outcomes.fault) return false;
    put_text(result, "{");
    if (reply->outcomes.length) {
        put_text(result, "\"outcomes\":{");
        put(result, reply->outcomes.at, reply->outcomes.length);
        put_text(result, "}");
    }
    put_text(result, "}");
    return true;
}

static headgate_activation read_activation(headgate_json params) {
    return (headgate_activation){
        .board = headgate_json_member(params, "board"), .activation = headgate_json_member(params, "activation"),
        .input = headgate_json_member(params, "input"), .mainboard = headgate_json_member(params, "mainboard"),
        .as_barrier = headgate_json_bool(headgate_json_member(params, "as_barrier"), false)};
}

/* Answers with the barrier that a board chooses, or with none if it returns HEADGATE_NOT_DONE. */
static bool choose_barrier(service *whose, headgate_json params, headgate_reply *reply, bytes *result) {
    headgate_activation activation = read_activation(params);
    headgate_run_end end = whose->choose(whose->context, &activation, reply);
    if (end == HEADGATE_FAILED || reply->output.fault) return false;
    bool has_barrier = end == HEADGATE_DONE && reply->output.length;
    put_text(result, "{\"barrier\":");
    if (has_barrier) put(result, reply->output.at, reply->output.length);
    else put_text(result, "null");
    put_text(result, "}");
    return true;
}

static bool run_board(service *whose, headgate_json params, headgate_reply *reply, bytes *result) {
    headgate_activation activation = read_activation(params);
    headgate_run_end end = whose->handler.run(whose->context, &activation, reply);
    if (end == HEADGATE_FAILED || reply->output.fault) return false;
    put_text(result, end == HEADGATE_DONE ? "{\"done\":true" : "{\"done\":false");
    if (end == HEADGATE_DONE && reply->output.length) {
        put_text(result, ",\"output\":");
        put(result, reply->output.at, reply->output.length);
    }
    put_text(result, "}");
    return true;
}

/* Runs the handler of a job, and returns the line of its answer. The caller does not hold the lock. */
static bytes run_asked(const job *asked) {
    headgate_json params = {asked->params, asked->params_length}, id = {asked->id, strlen(asked->id)};
    headgate_reply reply = {{0}, {0}};
    bytes line = {0}, result = {0};
    bool is_ok = asked->service->kind == WORKER ? run_worker(asked->service, params, &reply, &result)
        : asked->is_choice                      ? choose_barrier(asked->service, params, &reply, &result)
                                                : run_board(asked->service, params, &reply, &result);
    if (is_ok) {
        put_text(&line, "{\"jsonrpc\":\"2.0\",\"id\":");
        put(&line, id.text, id.length);
        put_text(&line, ",\"result\":");
        put(&line, result.at, result.length);
        put_text(&line, "}\n");
    } else {
        put_error(&line, id, INTERNAL_ERROR, "the handler failed", NULL, NULL);
    }
    discard(&reply.outcomes), discard(&reply.output), discard(&result);
    return line;
}

/* A running handler, which may end its thread. */
typedef struct running {
    headgate *client;
    job *due;
    bytes line;
} running;

static void take_back(running *of) {
    headgate *client = of->client;
    job *due = of->due;
    pthread_mutex_lock(&client->lock);
    due->service->runs--;
    if (due->id) {
        fit_answer(client, due->id, &of->line);
        answer(client, due->generation, &of->line);
    }
    end_job(client, due);
}

/* Answers for a handler that ended its thread. */
static void abandon_job(void *context) {
    running *of = context;
    if (of->due->id) {
        headgate_json id = {of->due->id, strlen(of->due->id)};
        put_error(&of->line, id, INTERNAL_ERROR, "the handler ended its thread", NULL, NULL);
    }
    take_back(of);
    pthread_cond_broadcast(&of->client->changed);
    pthread_mutex_unlock(&of->client->lock);
}

static void handle_news(job *due) {
    service *whose = due->service;
    bool has_error = due->news == HEADGATE_INTERRUPTED || due->news == HEADGATE_ENDED;
    whose->handler.watcher(whose->context, due->news, (headgate_json){due->params, due->params_length},
                           has_error ? &due->error : NULL);
}

static void run_handler(running *of) {
    pthread_cleanup_push(abandon_job, of);
    if (of->due->service->kind == WATCH) handle_news(of->due);
    else if (of->due->id) of->line = run_asked(of->due);
    pthread_cleanup_pop(0);
}

/* Runs the first job that is due, with the lock released meanwhile. */
static void run_job(headgate *client, const service *only) {
    job **at = next_job(client, only);
    running of = {client, *at, {0}};
    *at = of.due->next;
    if (!*at) {
        client->jobs_end = &client->jobs;
        while (*client->jobs_end) client->jobs_end = &(*client->jobs_end)->next;
    }
    client->job_count--;
    of.due->service->runs++;
    if (of.due->service->kind == WATCH) of.due->service->backlog--;
    pthread_mutex_unlock(&client->lock);
    run_handler(&of);
    take_back(&of);
}

int headgate_poll(headgate *client, long deadline_ms, headgate_error *error) {
    int64_t moment = after(deadline_ms);
    int count = 0, cancelling;
    bytes none = {0};
    if (!enter(client, &cancelling, error)) return -1;
    if (!may_begin(client, &none, error)) {
        leave(client, cancelling);
        return -1;
    }
    if (!client->is_led) { /* input that has arrived is read even if the deadline is 0 */
        go_on(client);
        turn(client, 0);
        pthread_cond_broadcast(&client->changed);
    }
    if (wait_until(client, job_is_due, NULL, moment))
        for (; count < INT_MAX && job_is_due(client, NULL); count++) run_job(client, NULL);
    if (!count && client->phase == CLOSED) count = -1, fail(error, "closed", "the client is closed");
    leave(client, cancelling);
    return count;
}

static bool perform(headgate *client, const char *method, bytes *params, bool is_repeated, service *handled,
                    long deadline_ms, headgate_answer *answer, headgate_error *error) {
    if (!may_begin(client, params, error)) return false;
    call *some = begin(client, method, params, NULL, after(deadline_ms));
    if (!some) {
        discard(params);
        return fail(error, "no_memory", "out of memory");
    }
    if (is_repeated) some->is_repeatable = true;
    some->is_bound = handled != NULL;
    call_or_job either = {some, handled};
    while (!some->is_done) {
        wait_until(client, handled ? call_or_job_is : call_is_done, handled ? (void *)&either : some, INT64_MAX);
        if (handled && !some->is_done && job_is_due(client, handled)) run_job(client, handled);
    }
    return finish_call(some, answer, error);
}

/* ---- Opening and closing ---- */

static char *default_socket(void) {
    const char *path = getenv("HEADGATE_SOCKET"), *directory = getenv("XDG_RUNTIME_DIR");
    if (path && *path) return copy_of(path, strlen(path));
    bytes place = {0};
    if (directory && *directory == '/') {
        put_text(&place, directory);
        put_text(&place, "/headgate");
        /* A user who has no daemon of their own means the machine's. */
        if (place.at && access(place.at, F_OK) != 0 && access("/run/headgate", F_OK) == 0) place.length = 0;
    }
    if (!place.length) put_text(&place, "/run/headgate");
    put_text(&place, "/headgate.sock");
    return place.at;
}

static void make_hello(headgate *client, const headgate_options *options) {
    bytes *hello = &client->hello;
    put_text(hello, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"client\":{");
    member_text(hello, "name", options->name);
    member_text(hello, "version", options->version && *options->version ? options->version : NULL);
    put_text(hello, "},\"protocol\":1");
    member_text(hello, "namespace", options->id_namespace);
    put_text(hello, "}}\n");
}

static void apply_defaults(headgate_options *options) {
    if (!options->greeting_timeout_ms) options->greeting_timeout_ms = 10000;
    if (!options->gives_up) options->connect_timeout_ms = 10000, options->reconnect_timeout_ms = HEADGATE_FOREVER;
    if (!options->close_timeout_ms) options->close_timeout_ms = 5000;
    if (!options->max_unanswered) options->max_unanswered = 16384;
    if (!options->max_unanswered_bytes) options->max_unanswered_bytes = (size_t)8 << 20;
    if (options->backoff_base_ms <= 0) options->backoff_base_ms = 50;
    if (options->backoff_cap_ms <= 0) options->backoff_cap_ms = 5000;
    if (options->backoff_cap_ms > 3600000) options->backoff_cap_ms = 3600000;
}

static void free_client(headgate *client) {
    free(client->path);
    free(client->slots);
    discard(&client->hello), discard(&client->input), discard(&client->output);
    if (client->wake[0] >= 0) close(client->wake[0]), close(client->wake[1]);
    free(client);
}

/* Frees the calls and notices in a forked process without calling back: they belong to the process that made them. */
static void forget_all(headgate *client) {
    if (client->socket >= 0) close(client->socket);
    for (size_t place = client->slot_head; place < client->slot_count; place++)
        if (client->slots[place].call) free_call(client->slots[place].call);
    for (call *next; client->told; client->told = next) {
        next = client->told->next_told;
        free_call(client->told);
    }
    for (notice *next; client->notices; client->notices = next) {
        next = client->notices->next;
        free_notice(client->notices);
    }
}

headgate *headgate_open(const headgate_options *options, headgate_error *error) {
    if (!options) return fail(error, "misuse", "a client needs a name"), NULL;
    headgate *client = calloc(1, sizeof *client);
    if (!client) return fail(error, "no_memory", "out of memory"), NULL;
    client->process = getpid();
    client->options = *options;
    apply_defaults(&client->options);
    client->socket = client->wake[0] = client->wake[1] = -1;
    client->patience = -1;
    client->earliest = INT64_MAX;
    client->told_end = &client->told;
    client->notices_end = &client->notices;
    client->jobs_end = &client->jobs;
    client->path = options->socket_path && *options->socket_path ? copy_of(options->socket_path, strlen(options->socket_path)) : default_socket();
    if (options->name) make_hello(client, options);
    pthread_condattr_t attributes;
    const char *fault = !options->name ? "a client needs a name" : client->hello.fault;
    if (fault || !client->path || pipe(client->wake) != 0 || getentropy(&client->random, sizeof client->random) != 0) {
        fail(error, fault ? "misuse" : "no_memory", fault ? fault : "no memory or descriptors are left");
        return free_client(client), NULL;
    }
    close_on_exec(client->wake[0]), close_on_exec(client->wake[1]);
    pthread_mutex_init(&client->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return client;
}

const char *headgate_socket_path(const headgate *client) { return client ? client->path : NULL; }

void headgate_stop(headgate *client) {
    int cancelling;
    if (!enter(client, &cancelling, NULL)) return;
    if (client->phase != CLOSED) {
        disconnect(client);
        client->phase = CLOSED;
        fail_all(client, local_error("closed", "the client is closed"));
        tell_state(client, HEADGATE_CLOSED, NULL);
        pthread_cond_broadcast(&client->changed);
        wake_leader(client);
        /* Callbacks run even if no thread waits. A thread in a callback goes on calling them anyway. */
        if (!client->is_led) {
            client->is_led = true;
            client->leader = pthread_self();
            tell_all(client);
            client->is_led = false;
        }
    }
    leave(client, cancelling);
}

/* Waits until all calls are answered, at most close_timeout_ms, and logs the number of events that were not. */
static void drain_at_the_end(headgate *client) {
    int cancelling;
    char count[24];
    if (!enter(client, &cancelling, NULL)) return;
    if (!is_in_callback(client)) wait_until(client, all_is_answered, NULL, after(client->options.close_timeout_ms));
    size_t left = client->given_up + (client->phase == CLOSED ? 0 : client->live - client->standing);
    client->given_up = 0;
    snprintf(count, sizeof count, "%zu", left);
    if (left) log_line(client, (const char *[]){count, " events were not acknowledged when the client was closed", NULL});
    leave(client, cancelling);
}

void headgate_close(headgate *client) {
    if (!client) return;
    bool is_own = !is_foreign(client);
    if (is_own) {
        drain_at_the_end(client);
        headgate_stop(client);
        telling left = {.client = client, .calls = client->told, .notices = client->notices};
        while (left.notices || left.calls) tell_one(&left);
    } else {
        forget_all(client);
    }
    for (job *next; client->jobs; client->jobs = next) {
        next = client->jobs->next;
        service *whose = client->jobs->service;
        whose->jobs--;
        free_job(client->jobs);
        release_service(whose);
    }
    for (service *next; client->services; client->services = next) {
        next = client->services->next;
        free_service(client->services);
    }
    if (is_own) {
        pthread_mutex_destroy(&client->lock);
        pthread_cond_destroy(&client->changed);
    }
    free_client(client);
}

bool headgate_drain(headgate *client, long deadline_ms, headgate_error *error) {
    bytes none = {0};
    int cancelling;
    if (!enter(client, &cancelling, error)) return false;
    bool is_ok = may_begin(client, &none, error);
    if (is_ok && !wait_until(client, all_is_answered, NULL, after(deadline_ms))) {
        is_ok = client->phase == CLOSED ? fail(error, "closed", "the client is closed")
                                        : fail_because(client, error, "timed_out", "not all calls were answered in time");
    }
    leave(client, cancelling);
    return is_ok;
}

bool headgate_call(headgate *client, const char *method, const char *params, long deadline_ms, headgate_answer *answer,
                   headgate_error *error) {
    if (!is_given(method, error)) return false;
    bytes given = {0};
    int cancelling;
    if (!enter(client, &cancelling, error)) return false;
    put_json(&given, params ? params : "{}", HEADGATE_OBJECT, "params are not a JSON object");
    bool is_ok = perform(client, method, &given, false, NULL, deadline_ms, answer, error);
    leave(client, cancelling);
    return is_ok;
}

/* ---- Tracking ---- */

static void put_event(bytes *to, headgate *client, const headgate_event *event) {
    char id[37] = "";
    int cancelling;
    if (!event->id && enter(client, &cancelling, NULL)) { /* the caller refuses the client of another process */
        make_id(client, id);
        leave(client, cancelling);
    }
    put_text(to, "{");
    member_text(to, "event", event->event ? event->event : "");
    member_text(to, "id", event->id ? event->id : id);
    member_json(to, "data", event->data, HEADGATE_OBJECT, "data is not a JSON object");
    member_text(to, "key", event->key);
    member_text(to, "time", event->time);
    member_texts(to, "dispatchers", event->dispatchers, event->dispatcher_count);
    if (event->has_ttl) member_int(to, "ttl_ms", event->ttl_ms);
    put_text(to, "}");
}

void headgate_receipt_free(headgate_receipt *receipt) {
    if (!receipt) return;
    free(receipt->id);
    receipt->id = NULL;
}

bool headgate_track(headgate *client, const headgate_event *event, long deadline_ms, headgate_receipt *receipt,
                    headgate_error *error) {
    if (!is_given(client && event, error)) return false;
    bytes params = {0};
    headgate_answer answer = {{0}, NULL};
    int cancelling;
    put_event(&params, client, event);
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    bool is_ok = perform(client, "track", &params, true, NULL, deadline_ms, &answer, error);
    leave(client, cancelling);
    headgate_receipt read = {.seq = -1};
    if (is_ok && !(read.id = headgate_json_text(headgate_json_member(answer.result, "id"), NULL)))
        is_ok = fail(error, "bad_answer", "the result of track has no id");
    if (is_ok && receipt) {
        headgate_json_int(headgate_json_member(answer.result, "seq"), &read.seq);
        read.duplicate = headgate_json_bool(headgate_json_member(answer.result, "duplicate"), false);
        read.unrouted = headgate_json_bool(headgate_json_member(answer.result, "unrouted"), false);
        *receipt = read;
    } else {
        free(read.id);
    }
    headgate_answer_free(&answer);
    return is_ok;
}

/* Waits until there is room, at most until the moment; 0 does not wait. A callback that is allowed to wait is let through instead.
 * The caller holds the lock. */
static bool find_room(headgate *client, const bytes *params, int64_t moment, headgate_error *error) {
    static const char closed[] = "the client is closed";
    if (params->fault) return fail(error, params->is_out_of_memory ? "no_memory" : "misuse", params->fault);
    if (client->phase == CLOSED) return fail(error, "closed", closed);
    if (moment && is_in_callback(client)) return true;
    bool has_found = moment ? wait_until(client, room_is_there, NULL, moment) : has_room(client);
    if (client->phase == CLOSED) return fail(error, "closed", closed); /* closing makes room, too */
    return has_found || fail_because(client, error, "buffer_full", "there was no room for another event in time");
}

/* Begins an event. It waits for room until `until`, or not at all if that is 0. */
static bool track_soon(headgate *client, const headgate_event *event, int64_t until, int64_t deadline,
                       headgate_tracked tracked, void *context, headgate_error *error) {
    if (!is_given(client && event, error)) return false;
    bytes params = {0};
    int cancelling;
    put_event(&params, client, event);
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    bool is_ok = find_room(client, &params, until, error);
    call *some = is_ok ? begin(client, "track", &params, NULL, deadline) : NULL;
    if (is_ok && !some) is_ok = fail(error, "no_memory", "out of memory");
    if (!is_ok) discard(&params);
    if (some) {
        some->is_repeatable = some->is_unattended = some->is_event = true;
        some->tracked = tracked, some->context = context;
        if (!client->is_led) {
            go_on(client);
            turn(client, 0);
            pthread_cond_broadcast(&client->changed);
        }
    }
    leave(client, cancelling);
    return is_ok;
}

bool headgate_track_begin(headgate *client, const headgate_event *event, long deadline_ms, headgate_tracked tracked,
                          void *context, headgate_error *error) {
    int64_t moment = after(deadline_ms);
    return track_soon(client, event, moment, moment, tracked, context, error);
}

bool headgate_try_track(headgate *client, const headgate_event *event, headgate_tracked tracked, void *context,
                        headgate_error *error) {
    return track_soon(client, event, 0, INT64_MAX, tracked, context, error);
}

/* Returns true if an answer has the required members; frees it otherwise. */
static bool has_member(headgate_answer *answer, const char *name, headgate_json_kind kind, headgate_error *error) {
    if (is_kind(headgate_json_member(answer->result, name), kind)) return true;
    headgate_answer_free(answer);
    set_error(error, 0, "bad_answer", "the result lacks a member", name);
    if (error) error->path[0] = 0;
    return false;
}

/* Makes a call, and checks that its result has a member. */
static bool ask_for(headgate *client, const char *method, bytes *params, const char *name, headgate_json_kind kind,
                    long deadline_ms, headgate_answer *answer, headgate_error *error) {
    headgate_answer got = {{0}, NULL};
    if (!ask(client, method, params, deadline_ms, &got, error) || !has_member(&got, name, kind, error)) return false;
    if (answer) *answer = got;
    else headgate_answer_free(&got);
    return true;
}

static bool ask_count(headgate *client, const char *method, bytes *params, const char *name, long deadline_ms,
                      int64_t *count, headgate_error *error) {
    headgate_answer answer = {{0}, NULL};
    int64_t got = 0;
    if (!ask_for(client, method, params, name, HEADGATE_NUMBER, deadline_ms, &answer, error)) return false;
    bool is_ok = headgate_json_int(headgate_json_member(answer.result, name), &got);
    headgate_answer_free(&answer);
    if (count) *count = got;
    return is_ok || fail(error, "bad_answer", "the result has no count");
}

bool headgate_track_many(headgate *client, const headgate_event *events, size_t count, long deadline_ms,
                         headgate_answer *answer, headgate_error *error) {
    if (!is_given(client && (events || count == 0), error)) return false;
    bytes params = params_begin();
    headgate_answer got = {{0}, NULL};
    put_name(&params, "events");
    put_text(&params, "[");
    for (size_t place = 0; place < count; place++) {
        put_comma(&params);
        put_event(&params, client, &events[place]);
    }
    put_text(&params, "]}");
    int cancelling;
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    bool is_ok = perform(client, "track_many", &params, true, NULL, deadline_ms, &got, error);
    leave(client, cancelling);
    if (!is_ok || !has_member(&got, "ids", HEADGATE_ARRAY, error)) return false;
    if (answer) *answer = got;
    else headgate_answer_free(&got);
    return true;
}

/* ---- Queries and operations ---- */

bool headgate_flush(headgate *client, const headgate_flush_options *options, long deadline_ms, headgate_answer *answer,
                    headgate_error *error) {
    static const headgate_flush_options fallback;
    bytes params = params_begin();
    headgate_answer got = {{0}, NULL};
    if (!options) options = &fallback;
    member_texts(&params, "dispatchers", options->dispatchers, options->dispatcher_count);
    member_true(&params, "wait", options->wait);
    if (options->has_timeout) member_int(&params, "timeout_ms", options->timeout_ms);
    member_text(&params, "flush", options->flush);
    if (!ask(client, "flush", &params, deadline_ms, &got, error)) return false;
    headgate_json ended = headgate_json_member(got.result, "ended");
    if (options->wait && !headgate_json_equals(ended, "settled") && !headgate_json_equals(ended, "timeout")
        && !headgate_json_equals(ended, "cancelled")) {
        headgate_answer_free(&got);
        return fail(error, "bad_answer", "the result of flush has an unknown end");
    }
    if (answer) *answer = got;
    else headgate_answer_free(&got);
    return true;
}

bool headgate_dispatchers(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask_for(client, "dispatcher.list", &params, "dispatchers", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_pause(headgate *client, const char *dispatcher, const char *reason, bool flushable, long deadline_ms,
                    headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "id", dispatcher);
    member_text(&params, "reason", reason);
    member_true(&params, "flushable", flushable);
    return ask(client, "dispatcher.pause", &params, deadline_ms, NULL, error);
}

bool headgate_resume(headgate *client, const char *dispatcher, long deadline_ms, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "id", dispatcher);
    return ask(client, "dispatcher.resume", &params, deadline_ms, NULL, error);
}

bool headgate_peek(headgate *client, const char *dispatcher, int64_t limit, int64_t after_seq, long deadline_ms,
                   headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "dispatcher", dispatcher);
    member_limit(&params, "limit", limit);
    member_limit(&params, "after", after_seq);
    return ask_for(client, "queue.peek", &params, "events", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_purge(headgate *client, const char *dispatcher, int64_t before_seq, long deadline_ms, int64_t *purged,
                    headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "dispatcher", dispatcher);
    member_limit(&params, "before_seq", before_seq);
    return ask_count(client, "queue.purge", &params, "purged", deadline_ms, purged, error);
}

bool headgate_dead_letters(headgate *client, const char *dispatcher, int64_t limit, const char *after_letter,
                           long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "dispatcher", dispatcher);
    member_limit(&params, "limit", limit);
    member_json(&params, "after", after_letter, HEADGATE_NONE, "after is not JSON");
    return ask_for(client, "dead_letters.list", &params, "dead_letters", HEADGATE_ARRAY, deadline_ms, answer, error);
}

static bool count_letters(headgate *client, const char *method, const char *dispatcher, const char *letters,
                          long deadline_ms, int64_t *count, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "dispatcher", dispatcher);
    member_json(&params, "letters", letters, HEADGATE_ARRAY, "letters are not a JSON array");
    return ask_count(client, method, &params, "count", deadline_ms, count, error);
}

bool headgate_dead_letters_requeue(headgate *client, const char *dispatcher, const char *letters, long deadline_ms,
                                   int64_t *count, headgate_error *error) {
    return count_letters(client, "dead_letters.requeue", dispatcher, letters, deadline_ms, count, error);
}

bool headgate_dead_letters_purge(headgate *client, const char *dispatcher, const char *letters, long deadline_ms,
                                 int64_t *count, headgate_error *error) {
    return count_letters(client, "dead_letters.purge", dispatcher, letters, deadline_ms, count, error);
}

/* written by Tools/protocol: definitions */
bool headgate_ping(headgate *client, long deadline_ms, headgate_error *error) {
    bytes params = params_begin();
    return ask(client, "ping", &params, deadline_ms, NULL, error);
}

bool headgate_rights(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask(client, "rights", &params, deadline_ms, answer, error);
}

bool headgate_discover(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask(client, "rpc.discover", &params, deadline_ms, answer, error);
}

bool headgate_flush_cancel(headgate *client, const char *flush, long deadline_ms, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "flush", flush);
    return ask(client, "flush.cancel", &params, deadline_ms, NULL, error);
}

bool headgate_flushes(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask_for(client, "flush.list", &params, "flushes", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_status(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask(client, "status", &params, deadline_ms, answer, error);
}

bool headgate_retry(headgate *client, const char *id, long deadline_ms, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "id", id);
    return ask(client, "dispatcher.retry", &params, deadline_ms, NULL, error);
}

bool headgate_rewind(headgate *client, const char *id, const char *to, bool dry_run, long deadline_ms,
                     headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "id", id);
    member_json(&params, "to", to, HEADGATE_NONE, "to is not JSON");
    member_true(&params, "dry_run", dry_run);
    return ask(client, "dispatcher.rewind", &params, deadline_ms, answer, error);
}

bool headgate_config(headgate *client, const char *layer, long deadline_ms, headgate_answer *answer,
                     headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "layer", layer);
    return ask(client, "config.get", &params, deadline_ms, answer, error);
}

bool headgate_config_set(headgate *client, const char *patch, bool persist, long deadline_ms, headgate_error *error) {
    bytes params = params_begin();
    member_json(&params, "patch", patch, HEADGATE_OBJECT, "patch is not a JSON object");
    member_true(&params, "persist", persist);
    return ask(client, "config.set", &params, deadline_ms, NULL, error);
}

bool headgate_config_reload(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask_for(client, "config.reload", &params, "changed", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_metrics(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask_for(client, "metrics", &params, "metrics", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_event_trace(headgate *client, const char *id, const char *id_namespace, long deadline_ms,
                          headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "id", id);
    member_text(&params, "namespace", id_namespace);
    return ask_for(client, "event.trace", &params, "events", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_clients(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask_for(client, "client.list", &params, "clients", HEADGATE_ARRAY, deadline_ms, answer, error);
}

bool headgate_backup(headgate *client, const char *backup, long deadline_ms, headgate_answer *answer,
                     headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, "backup", backup);
    return ask(client, "store.backup", &params, deadline_ms, answer, error);
}

bool headgate_erase(headgate *client, const char *when, const char *reason, bool dry_run, long deadline_ms,
                    headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    member_json(&params, "when", when, HEADGATE_NONE, "when is not JSON");
    member_text(&params, "reason", reason);
    member_true(&params, "dry_run", dry_run);
    return ask(client, "store.erase", &params, deadline_ms, answer, error);
}

bool headgate_rekey(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask(client, "store.rekey", &params, deadline_ms, answer, error);
}
/* end of what Tools/protocol has written */

/* ---- Services that last as long as a connection ---- */

static service *make_service(service_kind kind, const char *name, void *context) {
    service *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->kind = kind;
    made->context = context;
    made->most_runs = kind == BOARD ? INT64_MAX : 1;
    if ((made->name = copy_of(name, strlen(name)))) return made;
    free(made);
    return NULL;
}

/* No longer requests a service. Returns true if the daemon has it on the present connection. */
static bool withdraw(headgate *client, service *gone) {
    bool was_granted = gone->call && gone->call->is_granted;
    call *standing = gone->call;
    if (!standing) return false;
    if (is_late_watch(standing)) {
        await_late(client, standing);
    } else {
        forget_call(client, standing);
        free_call(standing);
    }
    gone->call = NULL;
    if (gone->is_awaited) {
        headgate_error error = local_error("closed", "the program ended the service before the daemon granted it");
        deny(client, gone, &error);
    }
    return was_granted;
}

/* Requests a service, and waits until it is granted. The caller holds the lock. Frees params, and the service if it fails. */
static bool stand(headgate *client, service *added, const char *method, bytes *params, long deadline_ms, int64_t *number,
                  headgate_error *error) {
    put_text(params, "}");
    if (!may_begin(client, params, error)) return free_service(added), false;
    call *some = begin(client, method, params, added, after(deadline_ms));
    if (!some) {
        discard(params);
        free_service(added);
        return fail(error, "no_memory", "out of memory");
    }
    if (number) *number = some->number;
    added->next = client->services;
    client->services = added;
    added->jobs++; /* so that it stays as long as it is needed here */
    added->is_awaited = true;
    wait_until(client, service_is_settled, added, INT64_MAX);
    bool is_ok = added->was_granted;
    if (!is_ok) {
        if (error) *error = added->error;
        drop_jobs(client, added);
        if (!added->call) unlink_service(client, added); /* a service with a call may be granted later */
    }
    added->jobs--;
    release_service(added);
    return is_ok;
}

/* Requests a service whose name a client may have once, such as a worker's dispatcher. */
static bool serve(headgate *client, service *added, const char *method, bytes *params, long deadline_ms,
                  headgate_error *error) {
    int cancelling;
    if (!added) return discard(params), fail(error, "no_memory", "out of memory");
    if (!enter(client, &cancelling, error)) return discard(params), free_service(added), false;
    bool is_ok = !named_service(client, added->kind, added->name);
    if (is_ok) {
        is_ok = stand(client, added, method, params, deadline_ms, NULL, error);
    } else {
        discard(params);
        free_service(added);
        fail(error, "misuse", "it is already served by this client");
    }
    leave(client, cancelling);
    return is_ok;
}

/* Ends a service at the daemon, also one that the daemon is about to grant: it handles requests in order. If the connection is lost
 * meanwhile, the service has ended with it. The caller holds the lock. */
static bool give_back(headgate *client, service *gone, const char *method, bytes *params, long deadline_ms,
                      headgate_error *error) {
    headgate_error got = {0, "", "", ""};
    bool was_asked = gone->call && gone->call->is_written, was_granted = withdraw(client, gone), is_ok = true;
    gone->jobs++; /* keeps the service in memory until the end of this function */
    put_text(params, "}");
    if (was_granted || was_asked) is_ok = perform(client, method, params, false, gone, deadline_ms, NULL, &got);
    else discard(params);
    drop_jobs(client, gone);
    unlink_service(client, gone);
    gone->jobs--;
    release_service(gone);
    bool was_refused = got.code && !was_granted; /* a refused service was never granted */
    if (is_ok || was_refused || strcmp(got.reason, "disconnected") == 0 || strcmp(got.reason, "shutting_down") == 0)
        return true;
    if (error) *error = got;
    return false;
}

static bool stop_serving(headgate *client, service_kind kind, const char *name, long deadline_ms, headgate_error *error) {
    bytes params = params_begin();
    member_text(&params, leaves[kind].member, name);
    int cancelling;
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    service *found = named_service(client, kind, name);
    bool is_ok = false;
    if (found && found->call) { /* without a call the service is being ended already */
        is_ok = give_back(client, found, leaves[kind].method, &params, deadline_ms, error);
    } else {
        discard(&params);
        set_error(error, SERVICE_ERROR, "not_found", "it is not served by this client", "");
    }
    leave(client, cancelling);
    return is_ok;
}

bool headgate_application_status(headgate *client, const char *status, long deadline_ms, headgate_error *error) {
    if (!is_given(status, error)) return false;
    bytes params = params_begin();
    int cancelling;
    member_text(&params, "status", status);
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    bool is_ok;
    service *announced = strcmp(status, "exiting") == 0 ? NULL : make_service(STATUS, "", NULL);
    if (announced) {
        is_ok = stand(client, announced, "application.status", &params, deadline_ms, NULL, error);
    } else {
        put_text(&params, "}");
        is_ok = perform(client, "application.status", &params, false, NULL, deadline_ms, NULL, error);
        service *earlier = is_ok ? named_service(client, STATUS, "") : NULL;
        if (earlier) withdraw(client, earlier), unlink_service(client, earlier);
    }
    leave(client, cancelling);
    return is_ok;
}

bool headgate_watch(headgate *client, const char *const *topics, size_t count, headgate_watcher watcher, void *context,
                    long deadline_ms, int64_t *watch, headgate_error *error) {
    if (!is_given(watcher, error)) return false;
    bytes params = params_begin();
    member_texts(&params, "topics", topics, count);
    service *added = make_service(WATCH, "", context);
    if (!added) return discard(&params), fail(error, "no_memory", "out of memory");
    added->handler.watcher = watcher;
    int cancelling;
    if (!enter(client, &cancelling, error)) return discard(&params), free_service(added), false;
    bool is_ok = stand(client, added, "watch", &params, deadline_ms, watch, error);
    leave(client, cancelling);
    return is_ok;
}

bool headgate_unwatch(headgate *client, int64_t watch, headgate_error *error) {
    int cancelling;
    if (!enter(client, &cancelling, error)) return false;
    service *found = client->services;
    while (found && (found->kind != WATCH || !found->call || found->call->number != watch)) found = found->next;
    if (found) {
        if (withdraw(client, found)) unwatch_service(client, found);
        drop_jobs(client, found);
        unlink_service(client, found);
    } else {
        set_error(error, SERVICE_ERROR, "not_found", "there is no such watch", "");
    }
    leave(client, cancelling);
    return found != NULL;
}

bool headgate_subscribe(headgate *client, const char *dispatcher, int64_t credit, int64_t limit, headgate_work work,
                        void *context, long deadline_ms, headgate_error *error) {
    if (!is_given(client && dispatcher && work, error)) return false;
    bytes params = params_begin();
    service *added = make_service(WORKER, dispatcher, context);
    if (added) added->handler.work = work;
    if (added && credit > 1) added->most_runs = credit;
    member_text(&params, "id", dispatcher);
    if (credit > 1) member_int(&params, "credit", credit);
    if (limit > 0) member_int(&params, "limit", limit);
    return serve(client, added, "dispatcher.subscribe", &params, deadline_ms, error);
}

bool headgate_unsubscribe(headgate *client, const char *dispatcher, long deadline_ms, headgate_error *error) {
    if (!is_given(dispatcher, error)) return false;
    return stop_serving(client, WORKER, dispatcher, deadline_ms, error);
}

static bool serve_board(headgate *client, const char *board, const char *barrier, headgate_run choose, bool bypass_gateway,
                        headgate_run run, void *context, long deadline_ms, headgate_error *error) {
    if (!is_given(client && board && run, error)) return false;
    bytes params = params_begin();
    service *added = make_service(BOARD, board, context);
    if (added) added->handler.run = run, added->choose = choose;
    member_text(&params, "board", board);
    if (choose) member_text(&params, "barrier", "ask");
    else member_json(&params, "barrier", barrier, HEADGATE_OBJECT, "barrier is not a JSON object");
    member_true(&params, "bypass_gateway", bypass_gateway);
    return serve(client, added, "board.serve", &params, deadline_ms, error);
}

bool headgate_serve_board(headgate *client, const char *board, const char *barrier, bool bypass_gateway, headgate_run run,
                          void *context, long deadline_ms, headgate_error *error) {
    return serve_board(client, board, barrier, NULL, bypass_gateway, run, context, deadline_ms, error);
}

bool headgate_serve_board_choosing(headgate *client, const char *board, headgate_run choose, bool bypass_gateway,
                                   headgate_run run, void *context, long deadline_ms, headgate_error *error) {
    if (!is_given(choose, error)) return false;
    return serve_board(client, board, NULL, choose, bypass_gateway, run, context, deadline_ms, error);
}

bool headgate_unserve_board(headgate *client, const char *board, long deadline_ms, headgate_error *error) {
    if (!is_given(board, error)) return false;
    return stop_serving(client, BOARD, board, deadline_ms, error);
}

bool headgate_activate(headgate *client, const headgate_activate_options *options, long deadline_ms,
                       headgate_answer *answer, headgate_error *error) {
    if (!is_given(options && options->board, error)) return false;
    bytes params = params_begin();
    member_text(&params, "board", options->board);
    member_json(&params, "input", options->input, HEADGATE_NONE, "input is not JSON");
    member_text(&params, "mainboard", options->mainboard);
    if (options->timeout_ms > 0) member_int(&params, "timeout_ms", options->timeout_ms);
    if (options->wait_ms > 0) member_int(&params, "wait_ms", options->wait_ms);
    return ask(client, "board.activate", &params, deadline_ms, answer, error);
}

/* ---- Barriers ---- */

bool headgate_barriers(headgate *client, long deadline_ms, headgate_answer *answer, headgate_error *error) {
    bytes params = params_begin();
    return ask_for(client, "barrier.list", &params, "barriers", HEADGATE_ARRAY, deadline_ms, answer, error);
}

/* Replaces a text by a copy of another; NULL changes nothing. */
static bool replace(char **text, const char *by) {
    char *copy = by ? copy_of(by, strlen(by)) : NULL;
    if (!by) return true;
    if (!copy) return false;
    free(*text);
    *text = copy;
    return true;
}

static void put_registration(bytes *to, const service *barrier) {
    member_text(to, "id", barrier->name);
    member_text(to, "state", barrier->state);
    if (barrier->scopes) {
        put_name(to, "scopes");
        put_text(to, barrier->scopes);
    }
    member_flag(to, "flushable", barrier->flushable);
    member_text(to, "on_disconnect", barrier->on_disconnect);
}

bool headgate_barrier_register(headgate *client, const headgate_barrier *barrier, long deadline_ms,
                               headgate_error *error) {
    if (!is_given(barrier && barrier->id, error)) return false;
    bytes scopes = {0}, params = params_begin();
    service *added = make_service(BARRIER, barrier->id, NULL);
    member_texts(&scopes, "", barrier->scopes, barrier->scope_count);
    if (!added || scopes.fault || !replace(&added->state, barrier->state)
        || !replace(&added->flushable, barrier->flushable) || !replace(&added->on_disconnect, barrier->on_disconnect)
        || (scopes.at && !replace(&added->scopes, strchr(scopes.at, '[')))) {
        if (added) free_service(added);
        discard(&params);
        fail(error, scopes.fault && !scopes.is_out_of_memory ? "misuse" : "no_memory",
             scopes.fault ? scopes.fault : "out of memory");
        discard(&scopes);
        return false;
    }
    discard(&scopes);
    put_registration(&params, added);
    int cancelling;
    if (!enter(client, &cancelling, error)) return discard(&params), free_service(added), false;
    service *earlier = named_service(client, BARRIER, barrier->id);
    if (earlier && earlier->is_ending) withdraw(client, earlier), unlink_service(client, earlier);
    bool is_ok = stand(client, added, "barrier.register", &params, deadline_ms, NULL, error);
    leave(client, cancelling);
    return is_ok;
}

static bool apply_exception(service *barrier, const headgate_barrier_change *change) {
    exception **at = &barrier->exceptions;
    while (*at && strcmp((*at)->dispatcher, change->dispatcher) != 0) at = &(*at)->next;
    if (!*at) {
        exception *added = calloc(1, sizeof *added);
        if (!added) return false;
        if (!replace(&added->dispatcher, change->dispatcher)) return free(added), false;
        *at = added;
    }
    if (change->state) free((*at)->reason), (*at)->reason = NULL;
    return replace(&(*at)->state, change->state) && replace(&(*at)->reason, change->reason);
}

/* Applies a change as the daemon does: a new state resets what was set before. */
static bool apply_change(service *barrier, const headgate_barrier_change *change) {
    if (!replace(&barrier->flushable, change->flushable)) return false;
    if (change->dispatcher) return !(change->state || change->reason) || apply_exception(barrier, change);
    if (change->state) {
        free_exceptions(barrier);
        free(barrier->reason);
        barrier->reason = NULL;
    }
    return replace(&barrier->state, change->state) && replace(&barrier->reason, change->reason);
}

/* Rewrites the lines of a barrier's registration for the next connection. */
static bool renew_registration(headgate *client, service *barrier) {
    call *standing = barrier->call;
    if (!standing) return true;
    bytes params = params_begin();
    put_registration(&params, barrier);
    put_text(&params, "}");
    size_t before = standing->line.length;
    bool is_ok = !params.fault && make_line(standing, "barrier.register", &params);
    headgate_barrier_change set = {.id = barrier->name, .reason = barrier->reason};
    if (is_ok && barrier->is_ending) put_further(client, &standing->line, "barrier.unregister", &set);
    if (is_ok && barrier->reason) put_further(client, &standing->line, "barrier.set", &set);
    for (exception *one = is_ok ? barrier->exceptions : NULL; one; one = one->next) {
        set = (headgate_barrier_change){barrier->name, one->state, NULL, one->dispatcher, one->reason};
        put_further(client, &standing->line, "barrier.set", &set);
    }
    /* Pending changes follow, so that a connection that breaks meanwhile does not restore the old state. */
    for (change *one = is_ok ? barrier->changes : NULL; one; one = one->next)
        put_further(client, &standing->line, "barrier.set", &one->to);
    is_ok = is_ok && !standing->line.fault;
    client->held_bytes += standing->line.length - before;
    if (standing->is_written) client->unanswered_bytes += standing->line.length - before;
    discard(&params);
    return is_ok;
}

/* Adds a copy of a change to the pending ones, and returns it; NULL if there is no memory. */
static change *make_change(service *barrier, const headgate_barrier_change *of) {
    change *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    if (!replace((char **)&made->to.id, of->id) || !replace((char **)&made->to.state, of->state)
        || !replace((char **)&made->to.flushable, of->flushable) || !replace((char **)&made->to.reason, of->reason)
        || !replace((char **)&made->to.dispatcher, of->dispatcher)) return free_change(made), NULL;
    change **last = &barrier->changes;
    while (*last) last = &(*last)->next;
    *last = made;
    made->barrier = barrier;
    return made;
}

/* Applies a change that the daemon has granted, or drops one that it has not. */
static void settle_change(headgate *client, change *settled, bool is_granted) {
    service *barrier = settled->barrier ? settled->barrier : named_service(client, BARRIER, settled->to.id);
    if (settled->barrier) {
        change **at = &barrier->changes;
        while (*at != settled) at = &(*at)->next;
        *at = settled->next;
        settled->barrier = NULL;
    }
    if (!barrier || barrier->is_ending) return;
    if (is_granted) apply_change(barrier, &settled->to);
    renew_registration(client, barrier);
}

/* Waits for the answer to a change. A change that is written and not answered in time stays pending on this connection. */
static bool await_change(headgate *client, call *some, long deadline_ms, headgate_error *error) {
    wait_until(client, call_is_done, some, after(deadline_ms));
    if (some->is_done) return finish_call(some, NULL, error);
    fail_because(client, error, "timed_out", "no answer came in time");
    if (some->is_written) {
        some->is_unattended = true;
        some->is_repeatable = false;
    } else {
        forget_call(client, some);
        settle_change(client, some->change, false);
        free_call(some);
    }
    return false;
}

bool headgate_barrier_set(headgate *client, const headgate_barrier_change *change, long deadline_ms,
                          headgate_error *error) {
    if (!is_given(change && change->id, error)) return false;
    bytes params = {0};
    int cancelling;
    put_change(&params, change);
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    service *own = named_service(client, BARRIER, change->id);
    if (own && own->is_ending) own = NULL;
    bool is_ok;
    if (!own) {
        is_ok = perform(client, "barrier.set", &params, false, NULL, deadline_ms, NULL, error);
    } else if ((is_ok = may_begin(client, &params, error))) {
        call *some = begin(client, "barrier.set", &params, NULL, INT64_MAX);
        if (some) some->is_repeatable = true, some->change = make_change(own, change);
        if (some && some->change && renew_registration(client, own)) {
            is_ok = await_change(client, some, deadline_ms, error);
        } else {
            if (some && some->change) settle_change(client, some->change, false);
            if (some) forget_call(client, some), free_call(some);
            discard(&params);
            is_ok = fail(error, "no_memory", "out of memory");
        }
    }
    leave(client, cancelling);
    return is_ok;
}

/* Makes a service that removes a barrier of an earlier connection. Only its owner may remove a barrier, so the service first takes it
 * over, as one that blocks nothing and ends with its connection. */
static service *make_ending(const char *id) {
    service *made = make_service(BARRIER, id, NULL);
    if (!made) return NULL;
    made->is_ending = made->was_asked = true;
    if (replace(&made->state, "open") && replace(&made->scopes, "[]")) return made;
    free_service(made);
    return NULL;
}

/* Removes a barrier that outlives its connection, if need be after the deadline. The caller holds the lock. Frees params. */
static bool end_staying(headgate *client, service *own, bytes *params, long deadline_ms, headgate_error *error) {
    put_text(params, "}");
    if (!may_begin(client, params, error)) return false;
    bool is_held = own->call && (own->call->is_granted || own->call->is_written);
    service *ending = make_ending(own->name);
    call *some = ending ? begin(client, "barrier.unregister", params, ending, INT64_MAX) : NULL;
    if (!some) {
        discard(params);
        if (ending) free_service(ending);
        return fail(error, "no_memory", "out of memory");
    }
    withdraw(client, own);
    unlink_service(client, own);
    ending->next = client->services;
    client->services = ending;
    if (!is_held) renew_registration(client, ending);
    ending->jobs++; /* so that it stays as long as it is needed here */
    ending->is_awaited = true;
    if (!wait_until(client, service_is_settled, ending, after(deadline_ms))) {
        headgate_error late = local_error("timed_out", "no answer came in time");
        deny(client, ending, &late);
    }
    headgate_error got = ending->error;
    if (got.code) unlink_service(client, ending);
    bool is_theirs = strcmp(got.reason, "conflict") == 0 || strcmp(got.reason, "unauthorized") == 0;
    bool is_ok = ending->was_granted || (got.code && !is_theirs); /* another error says that the barrier does not exist */
    ending->jobs--;
    release_service(ending);
    if (!is_ok && error) *error = got;
    return is_ok;
}

/* Merges two services of one barrier, which exist until a new registration is granted. Keeps the newer one for both. */
static service *one_of_two(headgate *client, service *kept) {
    for (service *one = kept ? kept->next : NULL, *next; one; one = next) {
        next = one->next;
        if (one->kind != BARRIER || strcmp(one->name, kept->name) != 0) continue;
        service *gone = kept->was_asked ? one : kept;
        kept = kept->was_asked ? kept : one;
        kept->was_asked |= gone->was_asked;
        withdraw(client, gone);
        unlink_service(client, gone);
    }
    return kept;
}

bool headgate_barrier_unregister(headgate *client, const char *id, bool force, long deadline_ms, headgate_error *error) {
    if (!is_given(id, error)) return false;
    bytes params = params_begin();
    member_text(&params, "id", id);
    member_true(&params, "force", force);
    int cancelling;
    if (!enter(client, &cancelling, error)) return discard(&params), false;
    service *own = one_of_two(client, named_service(client, BARRIER, id));
    bool is_ok;
    if (own && own->was_asked && (own->is_ending || !ends_with_connection(own))) {
        is_ok = end_staying(client, own, &params, deadline_ms, error);
    } else if (own) {
        is_ok = give_back(client, own, "barrier.unregister", &params, deadline_ms, error);
    } else {
        put_text(&params, "}");
        is_ok = perform(client, "barrier.unregister", &params, false, NULL, deadline_ms, NULL, error);
    }
    leave(client, cancelling);
    return is_ok;
}
