import CNATS
import HeadgateCore

/// What a stream said of a message: the table of Behaviour D3 for destinations of kind `nats`.
///
/// Its causes hold fixed words only, whatever a server says, so no secret can get into them (Behaviour X4).
struct NATSAnswer: Equatable {
    var outcome: EventOutcome
    /// Whether it may be that the stream is gone.
    var isStreamInDoubt = false

    /// The message is stored.
    static let stored = NATSAnswer(outcome: .delivered)

    /// The message was stored before.
    static let duplicate = NATSAnswer(outcome: .duplicate)

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

    /// JetStream refused the message. Only a refusal that concerns the event itself is charged, or ends it. Any other code, also
    /// one that is not known here, says that the cluster, the account or the stream is not ready, or full: an outage
    /// (Behaviour D9).
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
    /// What came of a message.
    func answer(_ message: MessageFlights.Message, _ answer: NATSAnswer) {
        self.answer(message, answer.outcome, isInDoubt: answer.isStreamInDoubt)
    }
}

/// Why events cannot be published now.
struct NATSFault: Error, Equatable {
    /// In a few words for people, free of secrets.
    let cause: String

    init(_ cause: String) {
        self.cause = cause
    }

    /// Stops at a status that is no success.
    static func check(_ status: natsStatus) throws(NATSFault) {
        guard status == NATS_OK else { throw NATSFault(status.cause) }
    }

    /// Stops at a status that is no success, in other words than libnats's.
    static func check(_ status: natsStatus, else cause: String) throws(NATSFault) {
        guard status == NATS_OK else { throw NATSFault(cause) }
    }
}

/// Failures in a few words for people. They hold fixed words only, so no secret can get into them (Behaviour X4).
extension natsStatus {
    /// What a status that is no success says.
    var cause: String {
        switch self {
        case NATS_NO_SERVER: "NATS: no server could be reached"
        case NATS_TIMEOUT: "timed out"
        case NATS_NO_RESPONDERS: "NATS: no stream takes the subject"
        case NATS_NOT_PERMITTED: "NATS: permissions violation"
        case NATS_INSUFFICIENT_BUFFER: "NATS: not connected"
        default: connectionCause ?? "NATS: " + String(cString: natsStatus_GetText(self)).lowercased()
        }
    }

    private var connectionCause: String? {
        switch self {
        case NATS_CONNECTION_AUTH_FAILED: "NATS: authorization violation"
        case NATS_SECURE_CONNECTION_WANTED: "TLS: the server speaks none"
        case NATS_SECURE_CONNECTION_REQUIRED: "TLS: the server wants it"
        case NATS_SSL_ERROR: Self.tlsCause
        case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_IO_ERROR, NATS_STALE_CONNECTION:
            "connection lost"
        default: nil
        }
    }

    /// libnats says in its last error on this thread what OpenSSL found.
    private static var tlsCause: String {
        let text = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
        if text.contains("mismatch") { return "TLS: certificate of another host" }
        return text.contains("certificate") ? "TLS: certificate not trusted" : "TLS: handshake failed"
    }
}

extension jsErrCode {
    /// What JetStream's error says.
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
