import HeadgateCore

/// The content of a log that has to be kept: unsettled events, retained events (Behaviour R1), and dead letters.
///
/// Trimming, copying and counting ask this value alone, so that they cannot disagree. A further reason to keep events
/// belongs here.
struct Needed {
    private let settled: [DispatcherNumber: Settled]
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// No dispatcher needs the events up to and including this one.
    private let trimmedThrough: SequenceNumber
    /// Events after this one are retained, even if every dispatcher has settled them.
    private let retainedBehind: SequenceNumber
    /// The events that are erased.
    private let erased: NumberSet
    /// Bytes of the dead letters in each segment that has some.
    private let deadLetterBytes: [UInt64: Int]

    /// Bytes that an event's record takes beside its JSON.
    private static let overhead = 48

    init(_ state: LogState) {
        settled = state.dispatchers.mapValues(\.settled)
        (routes, trimmedThrough) = (state.routes, state.trimmedThrough)
        deadLetterBytes = state.deadLetters.bytesBySegment
        erased = state.erased ?? []
        retainedBehind = state.retention == nil ? .max : state.unretainedThrough
    }

    // MARK: Events

    /// Returns true if an event is retained, or some dispatcher has not settled it.
    func contains(_ event: StoredEvent) -> Bool {
        let number = event.sequenceNumber
        if !erased.isEmpty, erased.contains(number) { return false }
        if number > retainedBehind { return true }
        guard number > trimmedThrough, let dispatchers = routes[event.route] else { return false }
        return dispatchers.contains { settled[$0]?.contains(number) == false }
    }

    /// Returns true if some dispatcher has not settled all events of a route in a span.
    private func isUnsettled(_ route: RouteNumber, in span: LogSpan) -> Bool {
        guard span.last > trimmedThrough, let dispatchers = routes[route] else { return false }
        return dispatchers.contains { number in
            guard let settled = settled[number], settled.position < span.last else { return false }
            return settled.overlap(with: max(span.first, settled.position + 1)...span.last) != .whole
        }
    }

    /// Returns an estimate of the number and size of a span's unsettled events. It is never too low, and never more
    /// than the span holds.
    func unsettled(of span: LogSpan) -> Tally {
        guard span.last > trimmedThrough else { return .zero }
        return span.tallies.reduce(.zero) { sum, entry in
            isUnsettled(entry.route, in: span) ? sum + entry.tally : sum
        }
    }

    /// Returns an estimate of the bytes of a span's events that are needed. It is never too low, and never more than
    /// the span holds.
    func bytes(of span: LogSpan) -> Int {
        Needed.bytes(span.last > retainedBehind ? span.tally : unsettled(of: span))
    }

    private static func bytes(_ tally: Tally) -> Int { tally.bytes + tally.events * overhead }

    /// Returns an estimate of the number of unsettled events in an index. It is never too low, and never more than the
    /// index holds.
    func events(of index: LogIndex) -> Int {
        index.blocks.reduce(0) { $0 + unsettled(of: $1.span).events }
    }

    // MARK: Segments

    /// Returns the bytes of a segment that may be needed, dead letters among them.
    func bytes(of segment: UInt64, _ index: LogIndex) -> Int {
        let deadLetters = deadLetterBytes[segment] ?? 0
        if let first = index.blocks.first?.span.last, first > retainedBehind {
            return deadLetters + Needed.bytes(index.total)
        }
        return index.blocks.reduce(deadLetters) { $0 + bytes(of: $1.span) }
    }

    /// Returns true if something of a segment may be needed. The first block mostly decides.
    func contains(_ segment: UInt64, _ index: LogIndex) -> Bool {
        index.events.last > retainedBehind || index.blocks.contains { bytes(of: $0.span) > 0 }
            || deadLetterBytes[segment] != nil
    }
}

extension LogState {
    /// The content that has to be kept.
    var needed: Needed { Needed(self) }
}
