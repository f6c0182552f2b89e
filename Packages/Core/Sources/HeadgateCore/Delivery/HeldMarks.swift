import HeadgateData

/// Remembers which dispatches barriers have held, and why, in a few words whatever their number: a barrier that holds a
/// dispatcher holds all that wait, so a stretch of them stands for each (Behaviour D13). What was on its way is in no
/// stretch.
struct HeldMarks {
    private var marks: [(word: String, stretch: ClosedRange<SequenceNumber>)] = []

    /// All that waits is held for these reasons.
    mutating func hold(_ words: [String], _ stretch: ClosedRange<SequenceNumber>) {
        for word in words { hold(word, stretch) }
    }

    private mutating func hold(_ word: String, _ stretch: ClosedRange<SequenceNumber>) {
        let touching = marks.indices.filter { marks[$0].word == word && marks[$0].stretch.overlaps(stretch) }
        guard let first = touching.first else { return marks.append((word, stretch)) }
        marks[first].stretch = touching.reduce(stretch) { whole, index in
            let part = marks[index].stretch
            return min(whole.lowerBound, part.lowerBound)...max(whole.upperBound, part.upperBound)
        }
        for index in touching.dropFirst().reversed() { marks.remove(at: index) }
    }

    /// Forgets reasons that hold for none but settled dispatches.
    mutating func forget(through position: SequenceNumber) {
        guard marks.contains(where: { $0.stretch.upperBound <= position }) else { return }
        marks.removeAll { $0.stretch.upperBound <= position }
    }

    /// The reasons for which a dispatch was held, the first first.
    func reasons(for sequenceNumber: SequenceNumber) -> [String] {
        guard !marks.isEmpty else { return [] }
        return marks.filter { $0.stretch.contains(sequenceNumber) }.map(\.word)
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
