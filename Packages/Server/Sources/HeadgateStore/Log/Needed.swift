import HeadgateCore

/// The content of a log that has to be kept: the events that some dispatcher has not settled, those that are retained (Behaviour R1), and
/// the dead letters.
///
/// Trimming, copying and counting ask this value, and nothing else, so that they cannot disagree. A further reason to keep events belongs
/// here.
struct Needed {
    private let settled: [DispatcherNumber: Settled]
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// No dispatcher needs the events up to and including this one.
    private let trimmedThrough: SequenceNumber
    /// Events after this one are retained, even if every dispatcher has settled them.
    private let retainedBehind: SequenceNumber
    /// Bytes of the dead letters in each segment that has some.
    private let letterBytes: [UInt64: Int]

    /// Bytes that an event's record takes beside its JSON.
    private static let overhead = 48

    init(_ state: LogState) {
        settled = state.dispatchers.mapValues(\.settled)
        (routes, trimmedThrough) = (state.routes, state.trimmedThrough)
        letterBytes = state.letters.bytesBySegment
        retainedBehind = state.retention == nil ? .max : state.givenUpThrough
    }

    // MARK: Events

    /// Returns true if an event is retained, or some dispatcher has not settled it.
    func contains(_ event: StoredEvent) -> Bool {
        let number = event.sequenceNumber
        if number > retainedBehind { return true }
        guard number > trimmedThrough, let dispatchers = routes[event.route] else { return false }
        return dispatchers.contains { settled[$0]?.contains(number) == false }
    }

    /// Returns true if some dispatcher has not settled all events of a route in a span.
    private func isUnsettled(_ route: RouteNumber, in stretch: LogStretch) -> Bool {
        guard stretch.last > trimmedThrough, let dispatchers = routes[route] else { return false }
        return dispatchers.contains { number in
            guard let settled = settled[number], settled.position < stretch.last else { return false }
            return settled.overlap(with: max(stretch.first, settled.position + 1)...stretch.last) != .whole
        }
    }

    /// Returns the number and size of the events of a span that some dispatcher may not have settled: at most as many as it holds, and at
    /// least as many as there are.
    func unsettled(of stretch: LogStretch) -> Tally {
        guard stretch.last > trimmedThrough else { return .zero }
        return stretch.tallies.reduce(.zero) { sum, entry in
            isUnsettled(entry.route, in: stretch) ? sum + entry.tally : sum
        }
    }

    /// Returns the bytes of the events of a span that may be needed: at most as many as it holds, and at least as many as are needed.
    func bytes(of stretch: LogStretch) -> Int {
        Needed.bytes(stretch.last > retainedBehind ? stretch.tally : unsettled(of: stretch))
    }

    private static func bytes(_ tally: Tally) -> Int { tally.bytes + tally.events * overhead }

    /// Returns the number of events of an index that some dispatcher may not have settled: at most as many as there are, and at least as
    /// many as are needed.
    func events(of index: LogIndex) -> Int {
        index.blocks.reduce(0) { $0 + unsettled(of: $1.stretch).events }
    }

    // MARK: Segments

    /// Returns the bytes of a segment that may be needed, dead letters among them.
    func bytes(of segment: UInt64, _ index: LogIndex) -> Int {
        let letters = letterBytes[segment] ?? 0
        if let first = index.blocks.first?.stretch.last, first > retainedBehind {
            return letters + Needed.bytes(index.total)
        }
        return index.blocks.reduce(letters) { $0 + bytes(of: $1.stretch) }
    }

    /// Returns true if something of a segment may be needed. Of a segment that is needed the first block mostly says so.
    func contains(_ segment: UInt64, _ index: LogIndex) -> Bool {
        index.events.last > retainedBehind || index.blocks.contains { bytes(of: $0.stretch) > 0 }
            || letterBytes[segment] != nil
    }
}
