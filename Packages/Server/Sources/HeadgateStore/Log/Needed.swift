import HeadgateCore

/// The content of a log that has to be kept: the events that some dispatcher has not settled, and the dead letters.
///
/// Trimming, copying and counting ask this value, and nothing else, so that they cannot disagree. A further reason to keep events belongs
/// here.
struct Needed {
    private let settled: [DispatcherNumber: Settled]
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// No dispatcher needs the events up to and including this one.
    private let trimmedThrough: SequenceNumber
    /// Bytes of the dead letters in each segment that has some.
    private let letterBytes: [UInt64: Int]

    /// Bytes that an event's record takes beside its JSON.
    private static let overhead = 48

    init(_ state: LogState) {
        settled = state.dispatchers.mapValues(\.settled)
        (routes, trimmedThrough) = (state.routes, state.trimmedThrough)
        letterBytes = state.letters.bytesBySegment
    }

    // MARK: Events

    /// Returns true if some dispatcher has not settled an event.
    func contains(_ event: StoredEvent) -> Bool {
        let number = event.sequenceNumber
        guard number > trimmedThrough, let dispatchers = routes[event.route] else { return false }
        return dispatchers.contains { settled[$0]?.contains(number) == false }
    }

    /// Returns true if some dispatcher has not settled all events of a route in a span.
    private func contains(_ route: RouteNumber, in stretch: LogStretch) -> Bool {
        guard stretch.last > trimmedThrough, let dispatchers = routes[route] else { return false }
        return dispatchers.contains { number in
            guard let settled = settled[number], settled.position < stretch.last else { return false }
            return settled.overlap(with: max(stretch.first, settled.position + 1)...stretch.last) != .whole
        }
    }

    /// Returns the bytes of the events of a span that may be needed: at most as many as it holds, and at least as many as are needed.
    func bytes(of stretch: LogStretch) -> Int {
        stretch.tallies.reduce(0) { sum, entry in
            contains(entry.route, in: stretch)
                ? sum + entry.tally.bytes + entry.tally.events * Needed.overhead : sum
        }
    }

    /// Returns the number of events of an index that some dispatcher may not have settled: at most as many as there are, and at least as
    /// many as are needed.
    func events(of index: LogIndex) -> Int {
        index.blocks.reduce(0) { sum, block in
            block.stretch.tallies.reduce(sum) { sum, entry in
                contains(entry.route, in: block.stretch) ? sum + entry.tally.events : sum
            }
        }
    }

    // MARK: Segments

    /// Returns the bytes of a segment that may be needed, dead letters among them.
    func bytes(of segment: UInt64, _ index: LogIndex) -> Int {
        index.blocks.reduce(letterBytes[segment] ?? 0) { $0 + bytes(of: $1.stretch) }
    }

    /// Returns true if something of a segment may be needed. Of a segment that is needed the first block mostly says so.
    func contains(_ segment: UInt64, _ index: LogIndex) -> Bool {
        index.blocks.contains { bytes(of: $0.stretch) > 0 } || letterBytes[segment] != nil
    }
}
