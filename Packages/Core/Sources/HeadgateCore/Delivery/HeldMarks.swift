import HeadgateData

/// Remembers which dispatches barriers have held, and why, in a few words whatever their number: a barrier that holds a
/// dispatcher holds all that wait, so the newest held for a reason stands for all before it (Behaviour D13).
struct HeldMarks {
    private var marks: [(word: String, newest: SequenceNumber)] = []

    /// All that waits, up to `newest`, is held for these reasons.
    mutating func hold(_ words: [String], through newest: SequenceNumber) {
        for word in words {
            if let index = marks.firstIndex(where: { $0.word == word }) {
                marks[index].newest = newest
            } else {
                marks.append((word, newest))
            }
        }
    }

    /// Forgets reasons that hold for none but settled dispatches.
    mutating func forget(through position: SequenceNumber) {
        guard marks.contains(where: { $0.newest <= position }) else { return }
        marks.removeAll { $0.newest <= position }
    }

    /// The reasons for which a dispatch was held, the first first.
    func reasons(for sequenceNumber: SequenceNumber) -> [String] {
        guard !marks.isEmpty else { return [] }
        return marks.filter { $0.newest >= sequenceNumber }.map(\.word)
    }
}

/// What a dispatch that was held says about it, in its data (Behaviour D13).
struct QueuedAnnotation {
    var reasons: [String]
    /// The kind of network connection as the dispatch goes out; nil while it is not known.
    var networkConnectionType: String?

    /// Writes the members, without braces: `"was_queued":"true","queue_reason":…`.
    func write(into writer: inout JSONWriter) {
        writer.raw(#""was_queued":"true","queue_reason":"#)
        writer.string(reasons.joined(separator: ","))
        guard let networkConnectionType else { return }
        writer.raw(#","network_connection_type":"#)
        writer.string(networkConnectionType)
    }
}
