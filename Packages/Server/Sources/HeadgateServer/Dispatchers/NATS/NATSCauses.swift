import CNATS

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
        case JSInsufficientResourcesErr, JSMemoryResourcesExceededErr, JSStorageResourcesExceededErr,
            JSAccountResourcesExceededErr, JSStreamMaxStreamBytesExceededErr, JSMaximumStreamsLimitErr:
            "NATS: the server's or the account's limits are reached"
        case JSClusterNotAvailErr, JSClusterNotLeaderErr, JSClusterNoPeersErr:
            "NATS: the cluster is not ready"
        default: "NATS: JetStream error \(rawValue)"
        }
    }
}
