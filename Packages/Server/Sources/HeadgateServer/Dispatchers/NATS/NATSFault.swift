import CNATS

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
