#include <librdkafka/rdkafka.h>

/// Produces one message, which librdkafka copies. On success librdkafka owns the headers. A NULL key means no key.
/// (Swift cannot call C functions with variable arguments.)
static inline rd_kafka_resp_err_t headgate_kafka_produce(
    rd_kafka_t *producer, rd_kafka_topic_t *topic, const void *key, size_t key_count, const void *value, size_t value_count,
    rd_kafka_headers_t *headers, void *message) {
    return rd_kafka_producev(
        producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY((void *)key, key_count), RD_KAFKA_V_VALUE((void *)value, value_count),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(message), RD_KAFKA_V_END);
}

/// Called on a thread of librdkafka when a request of a kind was written to a broker.
typedef void (*headgate_kafka_sent)(int16_t api, void *opaque);

static inline rd_kafka_resp_err_t headgate_kafka_request_sent(
    rd_kafka_t *producer, int socket, const char *broker, int32_t id, int16_t api, int16_t version, int32_t correlation,
    size_t size, void *heard) {
    (void)socket, (void)broker, (void)id, (void)version, (void)correlation, (void)size;
    ((headgate_kafka_sent)heard)(api, rd_kafka_opaque(producer));
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static inline rd_kafka_resp_err_t headgate_kafka_made(
    rd_kafka_t *producer, const rd_kafka_conf_t *configuration, void *heard, char *text, size_t size) {
    (void)configuration, (void)text, (void)size;
    return rd_kafka_interceptor_add_on_request_sent(producer, "headgate", headgate_kafka_request_sent, heard);
}

/// Makes producers with this configuration call a function for each request that is completely written, with the
/// configuration's opaque pointer.
static inline void headgate_kafka_on_sent(rd_kafka_conf_t *configuration, headgate_kafka_sent heard) {
    rd_kafka_conf_interceptor_add_on_new(configuration, "headgate", headgate_kafka_made, (void *)heard);
}

/// Called for each message that was refused or given up, on the thread that would write the next set of its partition.
typedef void (*headgate_kafka_failed)(rd_kafka_t *producer, int32_t partition, void *opaque);

static inline rd_kafka_resp_err_t headgate_kafka_acknowledged(
    rd_kafka_t *producer, rd_kafka_message_t *message, void *heard) {
    switch (message->err) {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
        case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
        case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: break;
        default: ((headgate_kafka_failed)heard)(producer, message->partition, rd_kafka_opaque(producer));
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static inline rd_kafka_resp_err_t headgate_kafka_made_failing(
    rd_kafka_t *producer, const rd_kafka_conf_t *configuration, void *heard, char *text, size_t size) {
    (void)configuration, (void)text, (void)size;
    return rd_kafka_interceptor_add_on_acknowledgement(producer, "headgate-failed", headgate_kafka_acknowledged, heard);
}

/// Makes producers with this configuration call a function for each message that was refused or given up, with the
/// configuration's opaque pointer.
static inline void headgate_kafka_on_failed(rd_kafka_conf_t *configuration, headgate_kafka_failed heard) {
    rd_kafka_conf_interceptor_add_on_new(configuration, "headgate-failed", headgate_kafka_made_failing, (void *)heard);
}
