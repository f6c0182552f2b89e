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

    /// The last of the dispatches that follow one and were held for the same reasons.
    func end(ofReasonsFor sequenceNumber: SequenceNumber) -> SequenceNumber {
        marks.reduce(.max) { end, mark in
            if mark.stretch.contains(sequenceNumber) { return min(end, mark.stretch.upperBound) }
            return mark.stretch.lowerBound > sequenceNumber ? min(end, mark.stretch.lowerBound - 1) : end
        }
    }
}
