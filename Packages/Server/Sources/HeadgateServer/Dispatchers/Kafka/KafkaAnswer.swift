import CKafka
import HeadgateCore

/// What a delivery report says of an event: the table of Behaviour D3 for destinations of kind `kafka`.
///
/// Its causes hold fixed words only, whatever a broker says, so no secret can get into them (Behaviour X4).
struct KafkaAnswer: Equatable {
    let outcome: EventOutcome

    /// - Parameter trouble: what was last said of the connections, which explains why time ran out.
    init(_ error: rd_kafka_resp_err_t, trouble: String? = nil) {
        switch error {
        case RD_KAFKA_RESP_ERR_NO_ERROR: outcome = .delivered
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
            outcome = .dead(.tooLarge, cause: "Kafka: larger than the topic's max.message.bytes")
        case RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
            outcome = .dead(.refused, cause: "Kafka: the topic refuses such an event")
        case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__PURGE_QUEUE,
            RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
            outcome = .retry(cause: trouble ?? error.cause, charged: false)
        default: outcome = .retry(cause: error.cause, charged: error.isOfEvent)
        }
    }

    /// Whether the producer is to be made anew: with the next one files are read and brokers are found again.
    var isInDoubt: Bool {
        if case .retry = outcome { true } else { false }
    }
}

extension rd_kafka_resp_err_t {
    /// Whether a broker said something of the event. What no other event would fare better with, like a topic that is not
    /// there or too few replicas, is not of the event, and charges no attempt.
    fileprivate var isOfEvent: Bool {
        rawValue > 0 && !Self.causes.keys.contains(rawValue)
    }

    /// What an error says, in a few words for people.
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
            ("Kafka: given up", [RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT]),
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
                "Kafka: the producer has to begin anew",
                [
                    RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
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

/// Why the brokers let a dispatcher not write.
enum KafkaDenial {
    static let identity = "Kafka: authentication failed"
    static let right = "Kafka: not allowed to write to the topic"

    static let all: Set<String> = [identity, right]
}

extension KafkaSettings {
    /// What the outcomes of a batch's events mean for the batch.
    ///
    /// Brokers judge sets of messages that librdkafka made of a batch. That one is too large, or refused, is believed of an
    /// event only when it was alone; a batch is sent again in halves (Behaviour D6), or without what was stored of it.
    func judge(_ result: SendResult) -> SendResult {
        switch result {
        case .noAnswer(let cause) where onUnauthorized == .pause && KafkaDenial.all.contains(cause):
            return .refused(SendResult.Refusal(.notAllowed, cause: cause, isCharged: false))
        case .each(let outcomes) where outcomes.count > 1:
            guard let cause = outcomes.lazy.compactMap(\.refusalCause).first else { return result }
            guard outcomes.contains(.delivered) else {
                return .refused(SendResult.Refusal(.tooLarge, cause: cause, isCharged: false))
            }
            return .each(outcomes.map { $0.refusalCause.map { .retry(cause: $0, charged: false) } ?? $0 })
        default: return result
        }
    }
}

extension EventOutcome {
    fileprivate var refusalCause: String? {
        if case .dead(_, let cause) = self { cause } else { nil }
    }
}
