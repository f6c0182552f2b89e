#include <librdkafka/rdkafka.h>

/// Hands one message over, of which librdkafka keeps a copy; the headers are its own once there is no error. A key of NULL
/// is none. (Swift cannot call C functions with variable arguments.)
static inline rd_kafka_resp_err_t headgate_kafka_produce(
    rd_kafka_t *producer, const char *topic, const void *key, size_t key_count, const void *value, size_t value_count,
    rd_kafka_headers_t *headers, void *message) {
    return rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY((void *)key, key_count), RD_KAFKA_V_VALUE((void *)value, value_count),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(message), RD_KAFKA_V_END);
}
