/// The clients' own ids of a group of events.
public struct RecentIDs: Sendable, Equatable {
    /// The highest sequence number of the group.
    public var lastSequenceNumber: SequenceNumber
    /// The time of receipt of the newest event, on the age scale in milliseconds.
    public var receivedStamp: Int64
    public var count: Int
    /// The encoding of ``bytes``.
    public var form: Form
    public var bytes: [UInt8]

    /// The encoding of ids. A store saves its number with the bytes.
    public enum Form: Int64, Sendable {
        /// Namespaces and ids in plain text, as older versions wrote them.
        case plain = 1
        /// Fingerprints under the store's key.
        case fingerprints = 2
    }

    public init(
        lastSequenceNumber: SequenceNumber, receivedStamp: Int64, count: Int, form: Form = .fingerprints,
        bytes: [UInt8]
    ) {
        self.lastSequenceNumber = lastSequenceNumber
        self.receivedStamp = receivedStamp
        self.count = count
        self.form = form
        self.bytes = bytes
    }
}
