#include <librdkafka/rdkafka.h>

/// Hands one message over, of which librdkafka keeps a copy; the headers are its own once there is no error. A key of NULL
/// is none. (Swift cannot call C functions with variable arguments.)
static inline rd_kafka_resp_err_t headgate_kafka_produce(
    rd_kafka_t *producer, rd_kafka_topic_t *topic, const void *key, size_t key_count, const void *value, size_t value_count,
    rd_kafka_headers_t *headers, void *message) {
    return rd_kafka_producev(
        producer, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY((void *)key, key_count), RD_KAFKA_V_VALUE((void *)value, value_count),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(message), RD_KAFKA_V_END);
}

/// What hears that a request of a kind was written to a broker, on a thread of librdkafka's.
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

/// Has a producer that is made of this configuration tell of each request that is wholly written; with the configuration's
/// opaque.
static inline void headgate_kafka_on_sent(rd_kafka_conf_t *configuration, headgate_kafka_sent heard) {
    rd_kafka_conf_interceptor_add_on_new(configuration, "headgate", headgate_kafka_made, (void *)heard);
}
