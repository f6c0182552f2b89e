import CKafka
import HeadgateCore

/// The outcome of an event, derived from its delivery report by the tables of Behaviour D3 and D9 for destinations of
/// kind `kafka`.
///
/// The causes are fixed texts and contain nothing that a broker sends, so they contain no secret (Behaviour X4).
struct KafkaAnswer: Equatable {
    let report: KafkaFlights.Report

    /// Judges an error. Only the errors named here concern the event itself. Any other error is an outage, or a fault
    /// of the topic or of the settings, and charges no attempt.
    init(_ error: rd_kafka_resp_err_t) {
        switch error {
        case RD_KAFKA_RESP_ERR_NO_ERROR: report = .stored
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
            report = .refused(.dead(.tooLarge, cause: "Kafka: larger than the topic's max.message.bytes"))
        case RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
            report = .refused(.dead(.refused, cause: "Kafka: the topic refuses the event"))
        // Brokers before 2.4 also report this for an event without a key in a compacted topic.
        case RD_KAFKA_RESP_ERR_INVALID_MSG:
            report = .refused(.retry(cause: "Kafka: the broker reports the event as damaged", charged: true))
        // Another message or a connection reports the cause.
        case RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, RD_KAFKA_RESP_ERR__FATAL:
            report = .failed(cause: nil)
        default: report = .failed(cause: error.cause)
        }
    }
}

extension rd_kafka_resp_err_t {
    /// The error as a short text for people.
    var cause: String {
        Self.causes[rawValue] ?? "Kafka: \(String(cString: rd_kafka_err2name(self)))"
    }

    private static let causes: [Int32: String] = {
        let causes: [(String, [rd_kafka_resp_err_t])] = [
            ("timed out", [RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT]),
            ("connection lost", [RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION]),
            ("Kafka: no broker could be reached", [RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN]),
            ("Kafka: no such host", [RD_KAFKA_RESP_ERR__RESOLVE]),
            ("TLS: handshake failed", [RD_KAFKA_RESP_ERR__SSL]),
            ("Kafka: no Kafka broker answers at this address", [RD_KAFKA_RESP_ERR__BAD_MSG]),
            ("Kafka: the topic's configuration does not allow the request", [RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS]),
            ("Kafka: the brokers do not support this compression", [RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE]),
            (
                "Kafka: the brokers' version is not supported",
                [RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION]
            ),
            ("Kafka: the topic's name is not valid", [RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION]),
            ("Kafka: the producer's queue is full", [RD_KAFKA_RESP_ERR__QUEUE_FULL]),
            (
                "Kafka: the topic does not exist",
                [
                    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
                    RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
                ]
            ),
            (
                "Kafka: too few replicas are in sync",
                [RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND]
            ),
            (
                "Kafka: the partition has no leader",
                [
                    RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                    RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
                ]
            ),
            (
                "Kafka: the brokers are not ready",
                [
                    RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
                    RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                    RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
                ]
            ),
            (
                "Kafka: the producer has to be recreated",
                [
                    RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE,
                    RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
                    RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
                    RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
                ]
            ),
            (KafkaDenial.identity, [RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED]),
            (
                KafkaDenial.right,
                [
                    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                    RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                ]
            ),
        ]
        return Dictionary(uniqueKeysWithValues: causes.flatMap { cause, errors in errors.map { ($0.rawValue, cause) } })
    }()
}

/// The causes for which brokers refuse a dispatcher's writes.
enum KafkaDenial {
    static let identity = "Kafka: authentication failed"
    static let right = "Kafka: not allowed to write to the topic"

    static let all: Set<String> = [identity, right]
}

extension KafkaSettings {
    /// Returns the result of a batch: a pause if the brokers refuse the dispatcher and the settings ask for a pause.
    func judge(_ result: SendResult) -> SendResult {
        switch result {
        case .noAnswer(let cause, _) where onUnauthorized == .pause && KafkaDenial.all.contains(cause):
            .refused(SendResult.Refusal(.notAllowed, cause: cause, isCharged: false))
        default: result
        }
    }
}
