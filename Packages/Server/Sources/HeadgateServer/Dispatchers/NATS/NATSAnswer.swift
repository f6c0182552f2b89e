import CNATS
import HeadgateCore

/// What a stream said of a message: the table of Behaviour D3 for destinations of kind `nats`.
///
/// Its causes hold fixed words only, whatever a server says, so no secret can get into them (Behaviour X4).
struct NATSAnswer: Equatable {
    var outcome: EventOutcome
    /// Whether it may be that the stream is gone.
    var isStreamInDoubt = false

    /// The message is stored, or was before.
    static let stored = NATSAnswer(outcome: .delivered)

    /// The message was not stored.
    init(_ error: jsPubAckErr) {
        if error.ErrCode.rawValue != 0 {
            let text = error.ErrText.map { String(cString: $0) } ?? ""
            self.init(refusal: error.ErrCode, text: text)
        } else {
            self.init(failure: error.Err)
        }
    }

    /// Nothing came from a stream.
    init(failure status: natsStatus) {
        if status == NATS_MAX_PAYLOAD {
            outcome = .dead(.tooLarge, cause: "NATS: larger than the server's max_payload")
        } else {
            outcome = .retry(cause: status.cause, charged: false)
            isStreamInDoubt = status == NATS_NO_RESPONDERS
        }
    }

    /// JetStream refused the message. What no other message would fare better with is a matter of the configuration
    /// and charges no attempt, like a missing server.
    init(refusal code: jsErrCode, text: String = "") {
        switch code {
        case JSStreamMessageExceedsMaximumErr:
            outcome = .dead(.tooLarge, cause: "NATS: larger than the stream's max_msg_size")
        case JSStreamNotMatchErr, JSStreamNotFoundErr, JSStreamSealedErr, JSNotEnabledErr, JSNotEnabledForAccountErr,
            JSStreamOfflineErr:
            outcome = .retry(cause: code.cause, charged: false)
            isStreamInDoubt = true
        case JSStreamStoreFailedErr where text.contains("maximum"):
            outcome = .retry(cause: "NATS: the stream is full", charged: true)
        default:
            outcome = .retry(cause: code.cause, charged: true)
        }
    }

    private init(outcome: EventOutcome) {
        self.outcome = outcome
    }
}
