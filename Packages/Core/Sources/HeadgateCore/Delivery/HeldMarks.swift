import HeadgateData

/// Remembers which dispatches barriers have held, and why, in a few words whatever their number: a barrier that holds a
/// dispatcher holds all that wait, so a stretch of them stands for each (Behaviour D13). What was on its way is in no
/// stretch.
struct HeldMarks {
    /// The reasons, those that came up first in front.
    private var words: [(word: String, stretches: Stretches)] = []
    /// With so many stretches it is looked for those that hold nothing any more.
    private var crowd = 64

    private var count: Int { words.reduce(0) { $0 + $1.stretches.count } }

    /// All that waits is held for these reasons.
    mutating func hold(_ reasons: [String], _ stretch: ClosedRange<SequenceNumber>) {
        for reason in reasons {
            if let place = words.firstIndex(where: { $0.word == reason }) {
                words[place].stretches.add(stretch)
            } else {
                words.append((reason, Stretches(stretch)))
            }
        }
    }

    /// Forgets reasons that hold for none but settled dispatches.
    mutating func forget(through position: SequenceNumber) {
        for place in words.indices { words[place].stretches.forget(through: position) }
        words.removeAll { $0.stretches.count == 0 }
    }

    /// Whether there are so many stretches that it is time to ``tidy(_:)``.
    var isCrowded: Bool { count > crowd }

    /// Forgets stretches in which nothing is left, when there are many. One dispatch that is not settled for long may have
    /// a great many of them behind it.
    mutating func tidy(_ isUsed: (ClosedRange<SequenceNumber>) -> Bool) {
        guard isCrowded else { return }
        for place in words.indices { words[place].stretches.keep(isUsed) }
        crowd = max(64, 2 * count)
    }

    /// The reasons for which a dispatch was held, the first first.
    func reasons(for sequenceNumber: SequenceNumber) -> [String] {
        words.filter { $0.stretches.contains(sequenceNumber) }.map(\.word)
    }

    /// The last of the dispatches that follow one and were held for the same reasons.
    func end(ofReasonsFor sequenceNumber: SequenceNumber) -> SequenceNumber {
        words.reduce(.max) { min($0, $1.stretches.end(ofSameAs: sequenceNumber)) }
    }
}

/// The stretches of one reason: ascending, and apart from each other.
private struct Stretches {
    private var all: [ClosedRange<SequenceNumber>]
    /// Those before this place are forgotten.
    private var first = 0

    init(_ stretch: ClosedRange<SequenceNumber>) {
        all = [stretch]
    }

    var count: Int { all.count - first }

    mutating func add(_ stretch: ClosedRange<SequenceNumber>) {
        let touched = place(reaching: stretch.lowerBound - 1)..<place(reaching: stretch.upperBound + 1)
        let last = touched.upperBound < all.count && all[touched.upperBound].lowerBound <= stretch.upperBound + 1
        let joined = touched.lowerBound..<(touched.upperBound + (last ? 1 : 0))
        guard let lowest = all[joined].first, let highest = all[joined].last else {
            return all.insert(stretch, at: joined.lowerBound)
        }
        let whole = min(lowest.lowerBound, stretch.lowerBound)...max(highest.upperBound, stretch.upperBound)
        all.replaceSubrange(joined, with: CollectionOfOne(whole))
    }

    mutating func forget(through position: SequenceNumber) {
        while first < all.count, all[first].upperBound <= position { first += 1 }
        guard first > 64, first > all.count / 2 else { return }
        all.removeFirst(first)
        first = 0
    }

    mutating func keep(_ isUsed: (ClosedRange<SequenceNumber>) -> Bool) {
        all = all[first...].filter(isUsed)
        first = 0
    }

    func contains(_ sequenceNumber: SequenceNumber) -> Bool {
        let place = place(reaching: sequenceNumber)
        return place < all.count && all[place].contains(sequenceNumber)
    }

    /// The last of those that follow an event and are, like it, in a stretch or in none.
    func end(ofSameAs sequenceNumber: SequenceNumber) -> SequenceNumber {
        let place = place(reaching: sequenceNumber)
        guard place < all.count else { return .max }
        return all[place].contains(sequenceNumber) ? all[place].upperBound : all[place].lowerBound - 1
    }

    /// The place of the first stretch that does not end before an event.
    private func place(reaching sequenceNumber: SequenceNumber) -> Int {
        var (low, high) = (first, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].upperBound < sequenceNumber { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The members that tell of a dispatch that it was held, in its data (Behaviour D13).
struct QueuedAnnotation {
    /// The members, without braces: `"was_queued":"true","queue_reason":…`.
    let members: [UInt8]
    /// The names of the members. An event's own members of these names are left out.
    let names: [String]

    private static let (wasQueued, reason, connection) = ("was_queued", "queue_reason", "network_connection_type")

    /// - Parameter networkConnectionType: the kind of network connection as the dispatch goes out; nil while it is not
    ///   known.
    init(reasons: [String], networkConnectionType: String?) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member(key: QueuedAnnotation.wasQueued)
        writer.string("true")
        writer.member(key: QueuedAnnotation.reason)
        writer.string(reasons.joined(separator: ","))
        if let networkConnectionType {
            writer.member(key: QueuedAnnotation.connection)
            writer.string(networkConnectionType)
        }
        members = Array(writer.bytes.dropFirst())
        let always = [QueuedAnnotation.wasQueued, QueuedAnnotation.reason]
        names = networkConnectionType == nil ? always : always + [QueuedAnnotation.connection]
    }

    /// Returns false if no member of an object can have one of the names: it has none of their letters in a row, and no escape
    /// that might stand for them.
    func mayReplace(membersOf object: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < object.count {
            switch object[place] {
            case UInt8(ascii: "\\"): return true
            case UInt8(ascii: "_"):
                let rest = object[place...]
                if QueuedAnnotation.tails.contains(where: { rest.starts(with: $0) }) { return true }
            default: break
            }
            place += 1
        }
        return false
    }

    /// The ends of the names, from their first underscores on.
    private static let tails = [wasQueued, reason, connection].map { Array($0.drop { $0 != "_" }.utf8) }
}

/// What the dispatches of one batch say about having been held. Those that follow one another nearly always say the same,
/// which is then written once.
struct QueuedAnnotations {
    private let held: HeldMarks
    private let wanted: AnnotateQueued
    private let networkConnectionType: String?
    private var last: (stretch: ClosedRange<SequenceNumber>, annotation: QueuedAnnotation?)?

    init(_ held: HeldMarks, of wanted: AnnotateQueued = .all, networkConnectionType: String?) {
        self.held = held
        self.wanted = wanted
        self.networkConnectionType = networkConnectionType
    }

    /// What a dispatch says; nil when nothing held it, or nothing that it is to tell.
    mutating func annotation(of sequenceNumber: SequenceNumber) -> QueuedAnnotation? {
        if let last, last.stretch.contains(sequenceNumber) { return last.annotation }
        let reasons = held.reasons(for: sequenceNumber)
        let annotation =
            wanted.includes(reasons)
            ? QueuedAnnotation(reasons: reasons, networkConnectionType: networkConnectionType) : nil
        last = (sequenceNumber...held.end(ofReasonsFor: sequenceNumber), annotation)
        return annotation
    }
}
