import HeadgateData

/// What a dispatch that was held says about it, in its data (Behaviour D13).
struct QueuedAnnotation {
    /// The members, without braces: `"was_queued":"true","queue_reason":…`.
    let members: [UInt8]

    /// - Parameter networkConnectionType: the kind of network connection as the dispatch goes out; nil while it is not
    ///   known.
    init(reasons: [String], networkConnectionType: String?) {
        var writer = JSONWriter()
        writer.raw(#""was_queued":"true","queue_reason":"#)
        writer.string(reasons.joined(separator: ","))
        if let networkConnectionType {
            writer.raw(#","network_connection_type":"#)
            writer.string(networkConnectionType)
        }
        members = writer.bytes
    }
}

/// What the dispatches of one batch say about having been held. Those that follow one another nearly always say the same,
/// which is then written once.
struct QueuedAnnotations {
    private let held: HeldMarks
    private let networkConnectionType: String?
    private var last: (stretch: ClosedRange<SequenceNumber>, annotation: QueuedAnnotation?)?

    init(_ held: HeldMarks, networkConnectionType: String?) {
        self.held = held
        self.networkConnectionType = networkConnectionType
    }

    /// What a dispatch says; nil when nothing held it.
    mutating func annotation(of sequenceNumber: SequenceNumber) -> QueuedAnnotation? {
        if let last, last.stretch.contains(sequenceNumber) { return last.annotation }
        let reasons = held.reasons(for: sequenceNumber)
        let annotation =
            reasons.isEmpty
            ? nil : QueuedAnnotation(reasons: reasons, networkConnectionType: networkConnectionType)
        last = (sequenceNumber...held.end(ofReasonsFor: sequenceNumber), annotation)
        return annotation
    }
}
