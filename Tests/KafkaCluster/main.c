// A Kafka cluster for tests: librdkafka's mock cluster, with brokers on the loopback interface. It writes their addresses as
// its first line, then reads commands from descriptor 3, one per line, and answers each with a line.
//
//   topic NAME PARTITIONS REPLICAS     creates a topic
//   leader NAME PARTITION BROKER       makes a broker, counted from 1, the leader of a partition
//   down BROKER, up BROKER             closes a broker's connections and refuses new ones; accepts them again
//   rtt BROKER MILLISECONDS            delays a broker's answers
//   fail CODE COUNT                    refuses the next COUNT produce requests with a Kafka error code
//   topic-error NAME CODE              sets the error code in answers for a topic; 0 for none
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { orders_descriptor = 3, produce_request = 0, longest_name = 250 };

static rd_kafka_resp_err_t fail(rd_kafka_mock_cluster_t *cluster, int code, int count) {
    for (int i = 0; i < count; i++) rd_kafka_mock_push_request_errors(cluster, produce_request, 1, code);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t obey(rd_kafka_mock_cluster_t *cluster, const char *line) {
    char name[longest_name];
    int a = 0, b = 0;
    if (sscanf(line, "topic %249s %d %d", name, &a, &b) == 3) return rd_kafka_mock_topic_create(cluster, name, a, b);
    if (sscanf(line, "leader %249s %d %d", name, &a, &b) == 3)
        return rd_kafka_mock_partition_set_leader(cluster, name, a, b);
    if (sscanf(line, "down %d", &a) == 1) return rd_kafka_mock_broker_set_down(cluster, a);
    if (sscanf(line, "up %d", &a) == 1) return rd_kafka_mock_broker_set_up(cluster, a);
    if (sscanf(line, "rtt %d %d", &a, &b) == 2) return rd_kafka_mock_broker_set_rtt(cluster, a, b);
    if (sscanf(line, "fail %d %d", &a, &b) == 2) return fail(cluster, a, b);
    if (sscanf(line, "topic-error %249s %d", name, &a) != 2) return RD_KAFKA_RESP_ERR__INVALID_ARG;
    rd_kafka_mock_topic_set_error(cluster, name, (rd_kafka_resp_err_t)a);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

int main(int count, char **arguments) {
    char text[512], line[512];
    int brokers = count > 1 ? atoi(arguments[1]) : 1;
    // The mock cluster needs a client instance, which has no other use.
    rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text, sizeof text);
    rd_kafka_mock_cluster_t *cluster = host ? rd_kafka_mock_cluster_new(host, brokers) : NULL;
    FILE *orders = fdopen(orders_descriptor, "r");
    if (!cluster || !orders) {
        fprintf(stderr, "there is no cluster to be had\n");
        return 1;
    }
    printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
    fflush(stdout);
    while (fgets(line, sizeof line, orders)) {
        rd_kafka_resp_err_t error = obey(cluster, line);
        printf("%s\n", error == RD_KAFKA_RESP_ERR_NO_ERROR ? "done" : rd_kafka_err2name(error));
        fflush(stdout);
    }
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(host);
    return 0;
}
