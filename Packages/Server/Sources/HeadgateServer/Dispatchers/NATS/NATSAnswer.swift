import CNATS
import HeadgateCore

/// The outcome of a message, derived from the stream's answer by the table of Behaviour D3 for destinations of kind
/// `nats`.
///
/// The causes are fixed texts and contain nothing that a server sends, so they contain no secret (Behaviour X4).
struct NATSAnswer: Equatable {
    var outcome: EventOutcome
    /// True if the stream may be gone.
    var isStreamInDoubt = false

    /// The message is stored.
    static let stored = NATSAnswer(outcome: .delivered)

    /// The message was stored before.
    static let duplicate = NATSAnswer(outcome: .duplicate)

    /// Judges a message that was not stored.
    init(_ error: jsPubAckErr) {
        if error.ErrCode.rawValue != 0 {
            let text = error.ErrText.map { String(cString: $0) } ?? ""
            self.init(refusal: error.ErrCode, text: text)
        } else {
            self.init(failure: error.Err)
        }
    }

    /// Judges a message that no stream answered.
    init(failure status: natsStatus) {
        if status == NATS_MAX_PAYLOAD {
            outcome = .dead(.tooLarge, cause: "NATS: larger than the server's max_payload")
        } else {
            outcome = .retry(cause: status.cause, charged: false)
            isStreamInDoubt = status == NATS_NO_RESPONDERS
        }
    }

    /// Judges JetStream's refusal of a message. Only a refusal that concerns the event itself charges an attempt or
    /// dead-letters the event. Any other code, also an unknown one, means that the cluster, the account or the stream
    /// is not ready, or full: an outage (Behaviour D9).
    init(refusal code: jsErrCode, text: String = "") {
        switch code {
        case JSStreamMessageExceedsMaximumErr:
            outcome = .dead(.tooLarge, cause: "NATS: larger than the stream's max_msg_size")
        case JSStreamRollupFailedErr, JSStreamWrongLastMsgIDErr, JSStreamWrongLastSequenceErr,
            JSStreamSequenceNotMatchErr:
            outcome = .retry(cause: "NATS: a rule of the stream rejects the event", charged: true)
        case JSStreamStoreFailedErr where text.contains("maximum"):
            outcome = .retry(cause: "NATS: the stream is full", charged: false)
        default:
            outcome = .retry(cause: code.cause, charged: false)
            isStreamInDoubt = code != JSStreamStoreFailedErr
        }
    }

    private init(outcome: EventOutcome) {
        self.outcome = outcome
    }
}

extension MessageLink {
    /// Handles the answer to a message.
    func answer(_ message: MessageFlights.Message, _ answer: NATSAnswer) {
        self.answer(message, answer.outcome, isInDoubt: answer.isStreamInDoubt)
    }
}

/// The reason why events cannot be published now.
struct NATSFault: Error, Equatable {
    /// A short text for people, without secrets.
    let cause: String

    init(_ cause: String) {
        self.cause = cause
    }

    /// Throws if a status is no success.
    static func check(_ status: natsStatus) throws(NATSFault) {
        guard status == NATS_OK else { throw NATSFault(status.cause) }
    }

    /// Throws the given cause if a status is no success.
    static func check(_ status: natsStatus, else cause: String) throws(NATSFault) {
        guard status == NATS_OK else { throw NATSFault(cause) }
    }
}

/// Failures as short texts for people. The texts are fixed, so they contain no secret (Behaviour X4).
extension natsStatus {
    /// The meaning of a status that is no success.
    var cause: String {
        switch self {
        case NATS_NO_SERVER: "NATS: no server could be reached"
        case NATS_TIMEOUT: "timed out"
        case NATS_NO_RESPONDERS: "NATS: no stream has this subject"
        case NATS_NOT_PERMITTED: "NATS: permissions violation"
        case NATS_INSUFFICIENT_BUFFER: "NATS: not connected"
        default: connectionCause ?? "NATS: " + String(cString: natsStatus_GetText(self)).lowercased()
        }
    }

    private var connectionCause: String? {
        switch self {
        case NATS_CONNECTION_AUTH_FAILED: "NATS: authorization violation"
        case NATS_SECURE_CONNECTION_WANTED: "TLS: the server does not support TLS"
        case NATS_SECURE_CONNECTION_REQUIRED: "TLS: the server requires TLS"
        case NATS_SSL_ERROR: "TLS: handshake failed"
        case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_IO_ERROR, NATS_STALE_CONNECTION:
            "connection lost"
        default: nil
        }
    }
}

/// The causes for which TLS keeps a dispatcher from connecting.
enum NATSTLSFault {
    /// Returns the cause of a failed connect, or nil if TLS is not the cause.
    /// - Parameter text: libnats's error, which has OpenSSL's text.
    static func cause(_ status: natsStatus, _ text: String, _ settings: NATSSettings) -> String? {
        switch status {
        case NATS_SSL_ERROR: return handshakeCause(text)
        // With TLS 1.3 a server refuses the client's certificate after the handshake: it ends the connection.
        case NATS_PROTOCOL_ERROR where settings.usesTLS && text.contains("got ''"):
            return settings.tls?.certFile == nil
                ? "TLS: the server ended the connection; it may require a client certificate"
                : "TLS: the server ended the connection; it may not accept the client certificate"
        default: return nil
        }
    }

    private static func handshakeCause(_ text: String) -> String {
        if text.contains("mismatch") { return "TLS: certificate of another host" }
        guard text.contains("certificate") || text.contains("unknown ca") else { return "TLS: handshake failed" }
        // An alert comes from the server.
        if text.contains(" alert ") { return "TLS: client certificate refused" }
        return text.contains("certificate has expired") ? "TLS: certificate expired" : "TLS: certificate not trusted"
    }
}

extension jsErrCode {
    /// The meaning of a JetStream error.
    var cause: String {
        switch self {
        case JSStreamNotFoundErr: "NATS: the stream does not exist"
        case JSStreamNotMatchErr: "NATS: another stream takes the subject"
        case JSStreamSealedErr: "NATS: the stream is sealed"
        case JSStreamOfflineErr: "NATS: the stream is offline"
        case JSNotEnabledErr, JSNotEnabledForAccountErr: "NATS: JetStream is not enabled"
        case JSStreamSubjectOverlapErr: "NATS: another stream takes the subject"
        case JSStreamStoreFailedErr: "NATS: the stream could not store the event"
        case JSInsufficientResourcesErr, JSMemoryResourcesExceededErr, JSStreamLimitsErr, JSNoLimitsErr,
            JSStorageResourcesExceededErr,
            JSAccountResourcesExceededErr, JSStreamMaxStreamBytesExceededErr, JSMaximumStreamsLimitErr:
            "NATS: the server's or the account's limits are reached"
        case JSClusterNotAvailErr, JSClusterNotLeaderErr, JSClusterNoPeersErr, JSClusterNotActiveErr,
            JSClusterNotAssignedErr, JSClusterIncompleteErr, JSRaftGeneralErr, JSStreamAssignmentErr, JSPeerRemapErr,
            JSStreamMoveInProgressErr:
            "NATS: the cluster is not ready"
        default: "NATS: JetStream error \(rawValue)"
        }
    }
}
