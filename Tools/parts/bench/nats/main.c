// Measures the maximum rate of a libnats publisher, limited only by the server.
//
//     publish URL EVENTS SIZE    publishes EVENTS messages to the stream `EVENTS` as fast as the server accepts them, and waits for
//                                all acknowledgements; prints messages a second
//     publish URL                creates the stream if it does not exist; prints how many messages it has ever stored

#include <nats/nats.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_pending = 10000, patience_ms = 60000 };

static const char stream[] = "EVENTS", subject[] = "bench.events";

static void check(natsStatus status, const char *what) {
    if (status == NATS_OK) return;
    fprintf(stderr, "publish: %s: %s\n", what, natsStatus_GetText(status));
    exit(1);
}

static uint64_t count(jsCtx *js) {
    const char *subjects[] = {subject};
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    if (js_GetStreamInfo(&info, js, stream, NULL, &code) == NATS_NOT_FOUND) {
        jsStreamConfig config;
        check(jsStreamConfig_Init(&config), "a stream");
        config.Name = stream;
        config.Subjects = subjects;
        config.SubjectsLen = 1;
        config.Storage = js_MemoryStorage;
        config.MaxBytes = 64 << 20;
        check(js_AddStream(&info, js, &config, NULL, &code), "a stream");
    }
    uint64_t last = info ? info->State.LastSeq : 0;
    jsStreamInfo_Destroy(info);
    return last;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double rate(jsCtx *js, long events, size_t size) {
    char *body = malloc(size), id[64];
    if (!body) check(NATS_NO_MEMORY, "a body");
    memset(body, 'x', size);
    jsPubOptions options;
    check(jsPubOptions_Init(&options), "options");
    options.MsgId = id;
    options.ExpectStream = stream;
    double start = now();
    for (long i = 0; i < events; i++) {
        snprintf(id, sizeof id, "00000000000000000000000000000000-%f-%ld", start, i);
        check(js_PublishAsync(js, subject, body, (int)size, &options), "a message");
    }
    jsPubOptions wait;
    check(jsPubOptions_Init(&wait), "options");
    wait.MaxWait = patience_ms;
    check(js_PublishAsyncComplete(js, &wait), "the acknowledgements");
    free(body);
    return (double)events / (now() - start);
}

int main(int words, char **word) {
    if (words != 2 && words != 4) check(NATS_INVALID_ARG, "publish URL [EVENTS SIZE]");
    natsConnection *connection;
    jsCtx *js;
    jsOptions options;
    check(natsConnection_ConnectTo(&connection, word[1]), "a connection");
    check(jsOptions_Init(&options), "options");
    options.PublishAsync.MaxPending = most_pending;
    options.PublishAsync.StallWait = patience_ms;
    check(natsConnection_JetStream(&js, connection, &options), "JetStream");
    uint64_t stored = count(js);
    if (words == 2) printf("%llu\n", (unsigned long long)stored);
    if (words == 4) printf("%f\n", rate(js, atol(word[2]), strtoul(word[3], NULL, 10)));
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    nats_Close();
}
