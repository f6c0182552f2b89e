// Measures the maximum rate of a librdkafka producer, limited only by the brokers.
//
//     produce BROKERS EVENTS SIZE BATCH    produces EVENTS messages to the topic `events`, and waits after each batch
//                                          until all replicas have it; prints messages a second
//     produce BROKERS                      prints how many messages the topic has ever stored

#include <librdkafka/rdkafka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { patience_ms = 60000 };

static const char topic[] = "events";
static long delivered;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "produce: %s: %s\n", what, why);
    exit(1);
}

static void reported(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    (void)producer, (void)opaque;
    if (message->err) fail("a message", rd_kafka_err2str(message->err));
    delivered++;
}

/// The configuration of a `kafka` dispatcher, except for the queue limits.
static rd_kafka_t *producer_to(const char *brokers) {
    const char *settings[][2] = {
        {"bootstrap.servers", brokers}, {"enable.idempotence", "true"}, {"acks", "all"}, {"linger.ms", "1"},
        {"partitioner", "murmur2_random"}, {"queue.buffering.max.messages", "100000"},
    };
    char text[512];
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (rd_kafka_conf_set(configuration, settings[i][0], settings[i][1], text, sizeof text))
            fail(settings[i][0], text);
    rd_kafka_conf_set_dr_msg_cb(configuration, reported);
    rd_kafka_t *producer = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, text, sizeof text);
    if (!producer) fail("no producer", text);
    return producer;
}

/// Produces a message with the headers of an event.
static void produce(rd_kafka_t *producer, void *body, size_t size) {
    rd_kafka_resp_err_t error;
    for (;;) {
        error = rd_kafka_producev(
            producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(body, size),
            RD_KAFKA_V_HEADER("id", "01890a5d-ac96-774b-bcce-b302099a8057", -1),
            RD_KAFKA_V_HEADER("event", "bench", -1), RD_KAFKA_V_HEADER("time", "2026-01-01T00:00:00.000Z", -1),
            RD_KAFKA_V_END);
        if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) break;
        rd_kafka_poll(producer, 1);
    }
    if (error) fail("a message", rd_kafka_err2str(error));
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double rate(rd_kafka_t *producer, long events, size_t size, long batch) {
    char *body = malloc(size);
    if (!body) fail("a body", "no memory");
    memset(body, 'x', size);
    double start = now();
    for (long i = 1; i <= events; i++) {
        produce(producer, body, size);
        if (i % batch == 0 || i == events) rd_kafka_flush(producer, patience_ms);
    }
    if (delivered != events) fail("delivery", "the brokers have not acknowledged all messages in time");
    free(body);
    return (double)events / (now() - start);
}

static int64_t count(rd_kafka_t *client) {
    const rd_kafka_metadata_t *metadata;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client, topic, NULL);
    rd_kafka_resp_err_t error = rd_kafka_metadata(client, 0, handle, &metadata, patience_ms);
    if (error) fail("the topic", rd_kafka_err2str(error));
    int64_t sum = 0, low = 0, high = 0;
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++) {
        error = rd_kafka_query_watermark_offsets(client, topic, i, &low, &high, patience_ms);
        if (error) fail("a partition", rd_kafka_err2str(error));
        sum += high;
    }
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
    return sum;
}

int main(int words, char **word) {
    if (words != 2 && words != 5) fail("usage", "produce BROKERS [EVENTS SIZE BATCH]");
    rd_kafka_t *producer = producer_to(word[1]);
    if (words == 2) printf("%lld\n", (long long)count(producer));
    if (words == 5) printf("%f\n", rate(producer, atol(word[2]), strtoul(word[3], NULL, 10), atol(word[4])));
    rd_kafka_destroy(producer);
}
