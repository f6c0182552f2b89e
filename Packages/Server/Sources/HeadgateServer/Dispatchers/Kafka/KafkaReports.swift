import CKafka
import HeadgateCore
import HeadgateTransport

/// What one producer tells on threads of librdkafka's: of each message what came of it, and of its connections what is wrong
/// with them.
final class KafkaReports: Sendable {
    private struct State {
        /// True if a request with messages was written to a broker: some of them may be stored.
        var hasWritten = false
        /// True if nothing will come through, and waiting is of no use.
        var isHopeless = false
        /// True if librdkafka has ended the producer.
        var isFatal = false
    }

    private let state = Guarded(State())
    private let link: KafkaLink

    init(_ link: KafkaLink) {
        self.link = link
    }

    /// Has a producer that is made of this configuration tell all to this object.
    func listen(_ configuration: OpaquePointer?) {
        // Not retained: whoever has the producer keeps this object, and nothing is told once the producer is destroyed.
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(self).toOpaque())
        rd_kafka_conf_set_events(configuration, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
        rd_kafka_conf_set_background_event_cb(configuration) { producer, event, reports in
            guard let producer, let event, let reports else { return }
            Unmanaged<KafkaReports>.fromOpaque(reports).takeUnretainedValue().take(event, of: producer)
        }
        // Nothing else tells whether messages of a producer may be stored that reports none.
        headgate_kafka_on_sent(configuration) { api, reports in
            guard api == KafkaReports.produce, let reports else { return }
            Unmanaged<KafkaReports>.fromOpaque(reports).takeUnretainedValue().written()
        }
    }

    /// Lets a new producer speak.
    func begin(_ producer: OpaquePointer) {
        let (main, background) = (rd_kafka_queue_get_main(producer), rd_kafka_queue_get_background(producer))
        rd_kafka_queue_forward(main, background)
        rd_kafka_queue_destroy(main)
        rd_kafka_queue_destroy(background)
    }

    /// Librdkafka ends a producer behind a gap before it reports the messages that leave the gap: what comes of them must not
    /// go to this producer again.
    func noteEnd(of producer: OpaquePointer) {
        guard rd_kafka_fatal_error(producer, nil, 0) != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        state.withLock { $0.isFatal = true }
        link.producerEnded(self)
    }

    /// The number of Kafka's requests that carry messages.
    private static let produce: Int16 = 0

    private func written() {
        state.withLock { $0.hasWritten = true }
    }

    /// All that may go is with the producer: what went wrong before that goes for all of it. Called for each attempt.
    func handedOver(to producer: OpaquePointer) {
        if state.withLock({ $0.isHopeless || $0.isFatal }) { takeBack(from: producer) }
    }

    private func take(_ event: OpaquePointer, of producer: OpaquePointer) {
        defer { rd_kafka_event_destroy(event) }
        noteEnd(of: producer)
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            var reports: [(message: KafkaFlights.Message, report: KafkaFlights.Report)] = []
            reports.reserveCapacity(rd_kafka_event_message_count(event))
            while let message = rd_kafka_event_message_next(event) { reports.append(Self.report(message)) }
            // What was on its way and failed waits for another attempt, which there will not be.
            if state.withLock({ $0.isFatal }) { takeBack(from: producer) }
            link.report(reports)
        case RD_KAFKA_EVENT_ERROR:
            let text = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
            note(rd_kafka_event_error(event), text, of: producer)
        default: break
        }
    }

    private static func report(
        _ message: UnsafePointer<rd_kafka_message_t>
    ) -> (message: KafkaFlights.Message, report: KafkaFlights.Report) {
        var error = message.pointee.err
        // All replicas have it, or it is not delivered.
        if error == RD_KAFKA_RESP_ERR_NO_ERROR, rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_PERSISTED {
            error = RD_KAFKA_RESP_ERR__TIMED_OUT
        }
        return (UInt(bitPattern: message.pointee._private), KafkaAnswer(error).report)
    }

    /// What is wrong with the connections. A producer that has written nothing gives its messages back at once when no broker
    /// is left: none of them is stored. Any other keeps them until brokers are back, since only the producer can repeat
    /// them under their old numbers, which brokers know again.
    private func note(_ error: rd_kafka_resp_err_t, _ text: String, of producer: OpaquePointer) {
        let trouble = KafkaTrouble(error, text)
        link.note(trouble, of: self)
        let isOver = state.withLock { state in
            if trouble.isFinal, !state.hasWritten { state.isHopeless = true }
            return state.isFatal || state.isHopeless
        }
        if isOver { takeBack(from: producer) }
    }

    /// Takes back what is not on its way to a broker. The producer is of no more use.
    private func takeBack(from producer: OpaquePointer) {
        link.producerEnded(self)
        rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING)
    }
}

/// What librdkafka says of a connection, in fixed words. Pure.
struct KafkaTrouble: Equatable {
    let cause: String
    /// Whether it says more than that a connection is not there.
    let isTelling: Bool
    /// Whether there is no use in waiting.
    let isFinal: Bool

    init(_ error: rd_kafka_resp_err_t, _ text: String) {
        switch error {
        // What OpenSSL says comes as the one or the other, as it happens. That a connection has ended without a word is no
        // more than it is without TLS.
        case RD_KAFKA_RESP_ERR__SSL,
            RD_KAFKA_RESP_ERR__TRANSPORT where text.contains("SSL routines") && !text.contains("unexpected eof"):
            (cause, isTelling, isFinal) = (KafkaTrouble.tlsCause(text), true, true)
        case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__RESOLVE:
            (cause, isTelling, isFinal) = (error.cause, true, error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
        // An answer of no broker: librdkafka takes its first four bytes for a length.
        case RD_KAFKA_RESP_ERR__BAD_MSG where text.contains(KafkaTrouble.httpLength):
            (cause, isTelling, isFinal) = ("Kafka: a web server answers at this address, not a broker", true, false)
        case RD_KAFKA_RESP_ERR__BAD_MSG where KafkaTrouble.alertLengths.contains(where: text.contains),
            RD_KAFKA_RESP_ERR__TRANSPORT where text.contains("connecting to a SSL listener"):
            (cause, isTelling, isFinal) = ("Kafka: the broker seems to want TLS", true, false)
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
            (cause, isTelling, isFinal) = (error.cause, false, true)
        case RD_KAFKA_RESP_ERR__TRANSPORT:
            (cause, isTelling, isFinal) = (RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.cause, false, false)
        default:
            (cause, isTelling, isFinal) = (error.cause, true, error == RD_KAFKA_RESP_ERR__FATAL)
        }
    }

    /// "HTTP" as a length.
    private static let httpLength = "Invalid response size \(0x4854_5450)"
    /// Alerts of TLS 1.0 to 1.3 as lengths.
    private static let alertLengths = (0...4).map { "Invalid response size \(0x1503_0000 + $0 << 8)" }

    /// Whose name another host has is not trusted either: librdkafka does not tell which it is.
    private static func tlsCause(_ text: String) -> String {
        if text.contains("wrong version number") { return "TLS: the broker speaks none" }
        let isOfCertificate = text.contains("certificate") || text.contains("unknown ca")
        guard isOfCertificate else { return "TLS: handshake failed" }
        // An alert is the broker's word.
        return text.contains(" alert ") ? "TLS: client certificate refused" : "TLS: certificate not trusted"
    }
}
