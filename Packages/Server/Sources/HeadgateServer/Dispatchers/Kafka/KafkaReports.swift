import CKafka
import HeadgateCore
import HeadgateTransport

extension MessageLink {
    /// What came of a message.
    func answer(_ message: MessageFlights.Message, _ answer: KafkaAnswer) {
        self.answer(message, answer.outcome, isInDoubt: answer.isInDoubt)
    }
}

/// What one producer tells on the thread that librdkafka has for that: of each message what came of it, and of its
/// connections what is wrong with them.
final class KafkaReports: Sendable {
    private struct State {
        /// Why nothing comes through, as far as that was told since the last delivery.
        var trouble: String?
        /// Whether anything was ever delivered.
        var isProven = false
        /// Whether it need not be waited for: nothing has come through, and nothing will.
        var isHopeless = false
    }

    private let state = Guarded(State())
    private let link: MessageLink

    init(_ link: MessageLink) {
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
        // Librdkafka's own lines hold what brokers say.
        rd_kafka_conf_set_log_cb(configuration) { _, _, _, _ in }
    }

    /// Lets a new producer speak.
    func begin(_ producer: OpaquePointer) {
        let (main, background) = (rd_kafka_queue_get_main(producer), rd_kafka_queue_get_background(producer))
        rd_kafka_queue_forward(main, background)
        rd_kafka_queue_destroy(main)
        rd_kafka_queue_destroy(background)
    }

    /// All of a batch is with the producer: what went wrong before that goes for all of it.
    func handedOver(to producer: OpaquePointer) {
        if state.withLock({ $0.isHopeless }) { giveUp(producer) }
    }

    private func take(_ event: OpaquePointer, of producer: OpaquePointer) {
        defer { rd_kafka_event_destroy(event) }
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            while let message = rd_kafka_event_message_next(event) { report(message) }
        case RD_KAFKA_EVENT_ERROR:
            let text = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
            note(rd_kafka_event_error(event), text, of: producer)
        default: break
        }
    }

    private func report(_ message: UnsafePointer<rd_kafka_message_t>) {
        var error = message.pointee.err
        // All replicas have it, or it is not delivered.
        let isStored = rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_PERSISTED
        if error == RD_KAFKA_RESP_ERR_NO_ERROR, !isStored { error = RD_KAFKA_RESP_ERR__TIMED_OUT }
        let trouble = state.withLock { state in
            if error == RD_KAFKA_RESP_ERR_NO_ERROR { state = State(isProven: true) }
            return state.trouble
        }
        link.answer(UInt(bitPattern: message.pointee._private), KafkaAnswer(error, trouble: trouble))
    }

    /// What is wrong with the connections. A producer through which nothing ever came gives its messages up at once when no
    /// broker is left; one that was of use tries on until their time is over, since it knows which may be stored already.
    private func note(_ error: rd_kafka_resp_err_t, _ text: String, of producer: OpaquePointer) {
        let isHopeless = state.withLock { state in
            let trouble = KafkaTrouble(error, text)
            if trouble.isTelling || state.trouble == nil { state.trouble = trouble.cause }
            if trouble.isFinal, !state.isProven { state.isHopeless = true }
            return state.isHopeless
        }
        if error == RD_KAFKA_RESP_ERR__FATAL { link.isReady = false }
        if isHopeless { giveUp(producer) }
    }

    private func giveUp(_ producer: OpaquePointer) {
        let all = RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING
        rd_kafka_purge(producer, all)
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
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
            (cause, isTelling, isFinal) = (error.cause, false, true)
        case RD_KAFKA_RESP_ERR__TRANSPORT:
            (cause, isTelling, isFinal) = (RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.cause, false, false)
        default:
            (cause, isTelling, isFinal) = (error.cause, true, error == RD_KAFKA_RESP_ERR__FATAL)
        }
    }

    /// Whose name another host has is not trusted either: librdkafka does not tell which it is.
    private static func tlsCause(_ text: String) -> String {
        let isOfCertificate = text.contains("certificate") || text.contains("unknown ca")
        guard isOfCertificate else { return "TLS: handshake failed" }
        // An alert is the broker's word.
        return text.contains(" alert ") ? "TLS: client certificate refused" : "TLS: certificate not trusted"
    }
}
