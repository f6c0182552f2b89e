import CKafka
import HeadgateCore
import HeadgateTransport

/// The receiver of one producer's reports, on librdkafka's threads: the outcome of each message, and problems of the
/// connections.
final class KafkaReports: Sendable {
    private struct State {
        /// True if a request with messages was sent to a broker, so that some of them may be stored.
        var hasWritten = false
        /// True if no message will be stored and waiting has no use.
        var isHopeless = false
        /// True if librdkafka has ended the producer.
        var isFatal = false
        /// The partitions in which a message has failed since librdkafka ended the producer.
        var refused: Set<Int32> = []
    }

    private let state = Guarded(State())
    private let link: KafkaLink

    init(_ link: KafkaLink) {
        self.link = link
    }

    /// Makes this object the receiver of the reports of producers with this configuration.
    func listen(_ configuration: OpaquePointer?) {
        // Not retained: the owner of the producer keeps this object, and a destroyed producer reports nothing.
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(self).toOpaque())
        rd_kafka_conf_set_events(configuration, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
        rd_kafka_conf_set_background_event_cb(configuration) { producer, event, reports in
            guard let producer, let event, let reports else { return }
            Unmanaged<KafkaReports>.fromOpaque(reports).takeUnretainedValue().take(event, of: producer)
        }
        // This is the only way to know whether messages may be stored if the producer reports none.
        headgate_kafka_on_sent(configuration) { api, reports in
            guard api == KafkaReports.produce, let reports else { return }
            Unmanaged<KafkaReports>.fromOpaque(reports).takeUnretainedValue().written()
        }
        headgate_kafka_on_failed(configuration) { producer, partition, reports in
            guard let producer, let reports else { return }
            Unmanaged<KafkaReports>.fromOpaque(reports).takeUnretainedValue().failed(in: partition, of: producer)
        }
    }

    /// Lets librdkafka's background thread deliver the reports of a new producer.
    func begin(_ producer: OpaquePointer) {
        let (main, background) = (rd_kafka_queue_get_main(producer), rd_kafka_queue_get_background(producer))
        rd_kafka_queue_forward(main, background)
        rd_kafka_queue_destroy(main)
        rd_kafka_queue_destroy(background)
    }

    /// Checks whether librdkafka has ended the producer, and records it. librdkafka ends the producer before it reports
    /// the messages that leave a gap. Their events must not go to this producer again.
    func noteEnd(of producer: OpaquePointer) {
        guard rd_kafka_fatal_error(producer, nil, 0) != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        state.withLock { $0.isFatal = true }
        link.producerEnded(self)
    }

    /// Takes messages back before the next set of a partition is written, if the set before it leaves a gap. An ended
    /// producer goes on writing, and a broker that does not know it in the partition would store that set. Each
    /// partition takes messages back for itself, because each broker has its own thread.
    private func failed(in partition: Int32, of producer: OpaquePointer) {
        noteEnd(of: producer)
        guard state.withLock({ $0.isFatal && $0.refused.insert(partition).inserted }) else { return }
        takeBack(from: producer)
    }

    /// The number of Kafka's request type that carries messages.
    private static let produce: Int16 = 0

    private func written() {
        state.withLock { $0.hasWritten = true }
    }

    /// Takes messages back if the producer failed before they were produced. It must be called after each round of
    /// producing.
    func handedOver(to producer: OpaquePointer) {
        if state.withLock({ $0.isHopeless || $0.isFatal }) { takeBack(from: producer) }
    }

    private func take(_ event: OpaquePointer, of producer: OpaquePointer) {
        defer { rd_kafka_event_destroy(event) }
        noteEnd(of: producer)
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            var reports: [KafkaFlights.Reports] = []
            while let message = rd_kafka_event_message_next(event) {
                reports.add(Self.report(message), of: UInt(bitPattern: message.pointee._private))
            }
            // Failed messages wait in the producer for another attempt, which an ended producer never makes.
            if state.withLock({ $0.isFatal }) { takeBack(from: producer) }
            link.report(reports)
        case RD_KAFKA_EVENT_ERROR:
            let text = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
            note(rd_kafka_event_error(event), text, of: producer)
        default: break
        }
    }

    private static func report(_ message: UnsafePointer<rd_kafka_message_t>) -> KafkaFlights.Report {
        var error = message.pointee.err
        // Without the acknowledgement of all replicas in sync the message does not count as delivered.
        if error == RD_KAFKA_RESP_ERR_NO_ERROR, rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_PERSISTED {
            error = RD_KAFKA_RESP_ERR__TIMED_OUT
        }
        return KafkaAnswer(error).report
    }

    /// Handles a problem of the connections. If no broker is left, a producer that has sent nothing returns its
    /// messages at once, because none of them is stored. Any other producer keeps its messages until brokers are back.
    /// Only it can repeat them under their numbers, which brokers recognise.
    private func note(_ error: rd_kafka_resp_err_t, _ text: String, of producer: OpaquePointer) {
        let failure = KafkaFailure(error, text)
        link.note(failure, of: self)
        let isOver = state.withLock { state in
            if failure.isFinal, !state.hasWritten { state.isHopeless = true }
            return state.isFatal || state.isHopeless
        }
        if isOver { takeBack(from: producer) }
    }

    /// Takes back the messages that are not in flight to a broker. The producer cannot be used after this.
    private func takeBack(from producer: OpaquePointer) {
        link.producerEnded(self)
        rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING)
    }
}

/// A problem of a connection, as a fixed text. A pure value.
struct KafkaFailure: Equatable {
    let cause: String
    /// True if the cause says more than that there is no connection.
    let isSpecific: Bool
    /// True if waiting has no use.
    let isFinal: Bool

    init(_ error: rd_kafka_resp_err_t, _ text: String) {
        switch error {
        // OpenSSL's errors come under either code. A connection that ends without a reason is no TLS problem.
        case RD_KAFKA_RESP_ERR__SSL,
            RD_KAFKA_RESP_ERR__TRANSPORT where text.contains("SSL routines") && !text.contains("unexpected eof"):
            (cause, isSpecific, isFinal) = (KafkaFailure.tlsCause(text), true, true)
        case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__RESOLVE:
            (cause, isSpecific, isFinal) = (error.cause, true, error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
        // The answer does not come from a broker: librdkafka reads its first four bytes as a length.
        case RD_KAFKA_RESP_ERR__BAD_MSG where text.contains(KafkaFailure.httpLength):
            (cause, isSpecific, isFinal) = ("Kafka: a web server answers at this address, not a broker", true, false)
        case RD_KAFKA_RESP_ERR__BAD_MSG where KafkaFailure.alertLengths.contains(where: text.contains),
            RD_KAFKA_RESP_ERR__TRANSPORT where text.contains("connecting to a SSL listener"):
            (cause, isSpecific, isFinal) = ("Kafka: the broker seems to require TLS", true, false)
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
            (cause, isSpecific, isFinal) = (error.cause, false, true)
        case RD_KAFKA_RESP_ERR__TRANSPORT:
            (cause, isSpecific, isFinal) = (RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.cause, false, false)
        default:
            (cause, isSpecific, isFinal) = (error.cause, true, error == RD_KAFKA_RESP_ERR__FATAL)
        }
    }

    /// librdkafka's text when it reads the bytes "HTTP" as a length.
    private static let httpLength = "Invalid response size \(0x4854_5450)"
    /// librdkafka's texts when it reads alerts of TLS 1.0 to 1.3 as lengths.
    private static let alertLengths = (0...4).map { "Invalid response size \(0x1503_0000 + $0 << 8)" }

    /// Returns the cause of a TLS error. librdkafka does not distinguish a wrong host name from an untrusted
    /// certificate.
    private static func tlsCause(_ text: String) -> String {
        if text.contains("wrong version number") { return "TLS: the broker does not use TLS" }
        let isOfCertificate = text.contains("certificate") || text.contains("unknown ca")
        guard isOfCertificate else { return "TLS: handshake failed" }
        // An alert comes from the broker.
        return text.contains(" alert ") ? "TLS: client certificate refused" : "TLS: certificate not trusted"
    }
}
