import Glibc
import HeadgateData

/// The dispatches that barriers have held, with the reasons (Behaviour D13). A barrier that holds a dispatcher holds
/// all its pending dispatches, so ranges are enough. Dispatches in flight are in no range.
struct HeldRanges {
    /// The reasons, in the order in which they first occurred.
    private var words: [(word: String, ranges: RangeList)] = []
    /// The number of ranges from which empty ones are removed.
    private var tidyThreshold = 64

    private var count: Int { words.reduce(0) { $0 + $1.ranges.count } }

    /// Records that all dispatches of a range are held for some reasons.
    mutating func hold(_ reasons: [String], _ range: ClosedRange<SequenceNumber>) {
        for reason in reasons {
            if let index = words.firstIndex(where: { $0.word == reason }) {
                words[index].ranges.add(range)
            } else {
                words.append((reason, RangeList(range)))
            }
        }
    }

    /// Forgets ranges of settled dispatches, and reasons without ranges.
    mutating func forget(through position: SequenceNumber) {
        for index in words.indices { words[index].ranges.forget(through: position) }
        words.removeAll { $0.ranges.count == 0 }
    }

    /// True if there are enough ranges to call ``tidy(_:)``.
    var needsTidying: Bool { count > tidyThreshold }

    /// Removes unused ranges if there are many. A single old dispatch that is not settled may be followed by many
    /// ranges.
    /// - Parameter isUsed: returns true if a range may contain an unsettled dispatch.
    mutating func tidy(_ isUsed: (ClosedRange<SequenceNumber>) -> Bool) {
        guard needsTidying else { return }
        for index in words.indices { words[index].ranges.keep(isUsed) }
        tidyThreshold = max(64, 2 * count)
    }

    /// Returns the reasons for which a dispatch was held, in the order of their first occurrence.
    func reasons(for sequenceNumber: SequenceNumber) -> [String] {
        words.filter { $0.ranges.contains(sequenceNumber) }.map(\.word)
    }

    /// Returns the last of the consecutive dispatches from `sequenceNumber` on that were held for the same reasons.
    func end(ofReasonsFor sequenceNumber: SequenceNumber) -> SequenceNumber {
        words.reduce(.max) { min($0, $1.ranges.end(ofSameAs: sequenceNumber)) }
    }
}

/// The ranges of one reason: ascending, and not adjacent to each other.
private struct RangeList {
    private var all: [ClosedRange<SequenceNumber>]
    /// The index of the first range in use.
    private var first = 0

    init(_ range: ClosedRange<SequenceNumber>) {
        all = [range]
    }

    var count: Int { all.count - first }

    mutating func add(_ range: ClosedRange<SequenceNumber>) {
        let touched = index(reaching: range.lowerBound - 1)..<index(reaching: range.upperBound + 1)
        let last = touched.upperBound < all.count && all[touched.upperBound].lowerBound <= range.upperBound + 1
        let joined = touched.lowerBound..<(touched.upperBound + (last ? 1 : 0))
        guard let lowest = all[joined].first, let highest = all[joined].last else {
            return all.insert(range, at: joined.lowerBound)
        }
        let whole = min(lowest.lowerBound, range.lowerBound)...max(highest.upperBound, range.upperBound)
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
        let index = index(reaching: sequenceNumber)
        return index < all.count && all[index].contains(sequenceNumber)
    }

    /// Returns the last of the consecutive events from `sequenceNumber` on that are all in one range, or all in none.
    func end(ofSameAs sequenceNumber: SequenceNumber) -> SequenceNumber {
        let index = index(reaching: sequenceNumber)
        guard index < all.count else { return .max }
        return all[index].contains(sequenceNumber) ? all[index].upperBound : all[index].lowerBound - 1
    }

    /// Returns the index of the first range that does not end before an event.
    private func index(reaching sequenceNumber: SequenceNumber) -> Int {
        BinarySearch.first(in: first..<all.count) { all[$0].upperBound >= sequenceNumber }
    }
}

/// The members in a dispatch's data that say that it was held (Behaviour D13).
struct QueuedAnnotation {
    /// The members without braces: `"was_queued":"true","queue_reason":…`.
    let members: [UInt8]
    /// The names of the members. The event's own members with these names are replaced.
    let names: [String]

    private static let (wasQueued, reason, connection) = ("was_queued", "queue_reason", "network_connection_type")

    /// - Parameters:
    ///   - reasons: the reason words of the barriers.
    ///   - networkConnectionType: the kind of network connection at the time of sending; nil if it is unknown.
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

    /// Returns false if an object certainly has no member with one of the names: its bytes contain neither the end of a
    /// name nor an escape. This quick check avoids parsing the object. It uses `memchr`, because every held event needs it.
    func mayReplace(membersOf object: UnsafeRawBufferPointer) -> Bool {
        guard let start = object.baseAddress else { return false }
        if memchr(start, Int32(UInt8(ascii: "\\")), object.count) != nil { return true }
        var index = 0
        while let found = memchr(start + index, Int32(UInt8(ascii: "_")), object.count - index) {
            index = start.distance(to: UnsafeRawPointer(found))
            let rest = object[index...]
            if QueuedAnnotation.tails.contains(where: { rest.starts(with: $0) }) { return true }
            index += 1
        }
        return false
    }

    /// The names from their first underscores on.
    private static let tails = [wasQueued, reason, connection].map { Array($0.drop { $0 != "_" }.utf8) }
}

/// The annotations of the dispatches in one batch. Consecutive dispatches nearly always have the same annotation, which
/// is then encoded once.
struct QueuedAnnotations {
    private let held: HeldRanges
    private let annotation: AnnotateQueued
    private let networkConnectionType: String?
    private var last: (range: ClosedRange<SequenceNumber>, annotation: QueuedAnnotation?)?

    init(_ held: HeldRanges, of annotation: AnnotateQueued = .all, networkConnectionType: String?) {
        self.held = held
        self.annotation = annotation
        self.networkConnectionType = networkConnectionType
    }

    /// Returns the annotation of a dispatch, or nil if it was not held, or not for a reason that is annotated.
    mutating func annotation(of sequenceNumber: SequenceNumber) -> QueuedAnnotation? {
        if let last, last.range.contains(sequenceNumber) { return last.annotation }
        let reasons = held.reasons(for: sequenceNumber)
        let annotation =
            annotation.includes(reasons)
            ? QueuedAnnotation(reasons: reasons, networkConnectionType: networkConnectionType) : nil
        last = (sequenceNumber...held.end(ofReasonsFor: sequenceNumber), annotation)
        return annotation
    }
}
