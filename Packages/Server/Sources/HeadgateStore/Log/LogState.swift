import HeadgateCore

/// The state of the log: everything beside the events, and the segments that hold these. Pure. The running log and a
/// start apply the same changes to it.
struct LogState {
    var dispatchers: [DispatcherNumber: StoredDispatcher] = [:]
    var routes: [RouteNumber: [DispatcherNumber]] = [:]
    var kept: [String: [UInt8]] = [:]
    var deadLetters = DeadLetterIndex()
    /// The highest sequence number that was ever assigned.
    var lastSequenceNumber: SequenceNumber = 0
    /// The receipt of the newest event, on the age scale.
    var newestStamp: Int64?
    /// The event up to which no dispatcher needs any.
    var trimmedThrough: SequenceNumber = 0
    /// The limits of settled events that are kept; nil keeps none (Behaviour R1).
    var retention: Retention?
    /// Settled events up to and including this one are no longer kept.
    var unretainedThrough: SequenceNumber = 0
    var ids = LogIDs()
    /// The sealed segments, in the order of their events.
    var segments: [LogSegmentEntry] = []
    /// The events that were found damaged, by the position of their block.
    var damaged: [LogPosition: RouteTallies] = [:]

    /// The events that are erased, and whose bytes may still be in the files; nil if no erasure is under way (Behaviour
    /// E1).
    var erased: NumberSet?

    // MARK: Changes

    /// Records events.
    mutating func apply(_ span: LogSpan) {
        lastSequenceNumber = max(lastSequenceNumber, span.last)
        if span.ages.lastReceipt > .min { newestStamp = span.ages.lastReceipt }
    }

    /// Records changes that came with events.
    mutating func apply(_ extras: LogExtras) {
        if extras.isEmpty { return }
        routes.merge(extras.newRoutes) { $1 }
        for dispatcher in extras.initialState.dispatchers {
            dispatchers[dispatcher.number, default: dispatcher].orphanedSince = dispatcher.orphanedSince
        }
        kept.merge(extras.initialState.kept) { known, _ in known }
        if let ids = extras.recentIDs { self.ids.add(ids) }
        ids.forget(through: extras.forgottenIDs)
        guard !extras.requeued.isEmpty else { return }
        let requeued = Set(extras.requeued)
        deadLetters.remove { requeued.contains($0.number) }
    }

    /// - Parameter frame: the position of the changes.
    /// - Returns: the number of dead letters that had to make room for newer ones, by dispatcher.
    @discardableResult
    mutating func apply(_ changes: [LogChange], in frame: LogPosition) -> [DispatcherNumber: Int] {
        var dropped: [DispatcherNumber: Int] = [:]
        for (index, change) in changes.enumerated() {
            dropped.add(apply(change, at: DeadLetterPosition(frame: frame, index: index)))
        }
        return dropped
    }

    private mutating func apply(_ change: LogChange, at position: DeadLetterPosition) -> [DispatcherNumber: Int] {
        switch change {
        case .requested(.deadLetter(let deadLetter)): deadLetters.add(deadLetter, at: position)
        case .requested(.limitDeadLetters(let bounds)): return deadLetters.limit(to: bounds)
        case .requested(let change): apply(change)
        case .numberedDeadLetter(let stored): deadLetters.add(stored.deadLetter, under: stored.number, at: position)
        case .deadLettersGone(let numbers):
            let gone = Set(numbers)
            deadLetters.remove { gone.contains($0.number) }
        case .forgotten(let numbers): for number in numbers { forget(number) }
        case .replaced(let numbers, let copy, let positions): replace(numbers, copy, positions)
        case .damaged(let position, let lost): damaged[position, default: [:]] += lost
        case .unretained(let through): unretainedThrough = max(unretainedThrough, through)
        case .rewound(let number, let settled): rewind(number, settled)
        case .routes(let changed): routes.merge(changed) { $1 }
        case .erased(let events):
            // The set must not be copied for each part of an erasure.
            if erased == nil { erased = [] }
            for event in events { erased?.insert(event) }
        case .erasureEnded: erased = nil
        }
        return [:]
    }

    /// The events that a dispatcher has settled. An event that no dispatcher needs counts as settled by all of them.
    func settled(of dispatcher: StoredDispatcher) -> Settled {
        let settled = dispatcher.settled
        return Settled(through: max(settled.position, trimmedThrough), and: settled.ranges)
    }

    /// Returns how many of the events in a range of numbers at least one dispatcher has not settled.
    func unsettled(_ numbers: Range<SequenceNumber>) -> Int {
        let settled = dispatchers.values.map(settled(of:))
        return numbers.count { number in settled.contains { !$0.contains(number) } }
    }

    /// Makes events unsettled for a dispatcher. Events that no dispatcher needed before are settled by the other
    /// dispatchers.
    private mutating func rewind(_ number: DispatcherNumber, _ settled: Settled) {
        for (other, dispatcher) in dispatchers where other != number {
            let known = self.settled(of: dispatcher)
            dispatchers[other]?.settled = known
        }
        dispatchers[number]?.settled = settled
        trimmedThrough = min(trimmedThrough, settled.position)
    }

    /// Begins to keep settled events, or stops doing so. Some of the events that are settled already may be gone.
    private mutating func retain(_ new: Retention?) {
        let isWhole = trimmedThrough == 0 && segments.isEmpty
        if retention == nil, !isWhole { unretainedThrough = max(unretainedThrough, lastSequenceNumber) }
        retention = new
    }

    private mutating func apply(_ change: StoreChange) {
        switch change {
        case .dispatcher(let dispatcher): dispatchers[dispatcher.number] = dispatcher
        case .forgetDispatcher(let number):
            dispatchers[number] = nil
            deadLetters.remove { $0.dispatcher == number }
        case .settled(let number, let settled): dispatchers[number]?.settled = settled
        case .trim(let through): trimmedThrough = max(trimmedThrough, through)
        case .forgetRoutes(let numbers): for number in numbers { routes[number] = nil }
        case .forgetIDs(let through): ids.forget(through: through)
        case .keep(let name, let value): kept[name] = value
        case .retain(let new): retain(new)
        case .deadLetter, .limitDeadLetters: break
        }
    }

    /// Replaces segments by a copy. If none of the segments is left, the copy is not needed.
    private mutating func replace(
        _ numbers: [UInt64], _ copy: LogSegmentEntry, _ positions: [DeadLetterNumber: DeadLetterPosition]
    ) {
        guard let position = segments.firstIndex(where: { numbers.contains($0.number) }) else { return }
        segments.removeAll { numbers.contains($0.number) }
        segments.insert(copy, at: position)
        deadLetters.move(positions)
        damaged = damaged.filter { !numbers.contains($0.key.segment) }
    }

    /// Removes a segment without needed content.
    mutating func forget(_ segment: UInt64) {
        segments.removeAll { $0.number == segment }
        damaged = damaged.filter { $0.key.segment != segment }
    }

    /// Removes segments whose files were removed, with their events and dead letters.
    mutating func lose(_ segments: [UInt64], andFilesOfIDs isGone: (LogFile) -> Bool) {
        let lost = Set(segments)
        for segment in lost { forget(segment) }
        deadLetters.remove { lost.contains($0.position.frame.segment) }
        ids.lose(isGone)
    }

    /// The highest number that the state mentions. The number was assigned, even if its event is lost. A new event with
    /// the same number would count as settled.
    var highestMentioned: SequenceNumber {
        let settled = dispatchers.values.map { $0.settled.ranges.last?.upperBound ?? $0.settled.position }
        let others = [
            lastSequenceNumber, trimmedThrough, unretainedThrough, ids.recent.last?.lastSequenceNumber ?? 0,
            ids.forgottenThrough,
        ]
        return (settled + others + deadLetters.entries.map(\.sequenceNumber)).max() ?? lastSequenceNumber
    }

    /// The state as it would be if no settled events were retained.
    var withoutRetained: LogState {
        var other = self
        other.retention = nil
        return other
    }
}

/// The whole state (a frame of the kind `snapshot`).
extension LogState: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(lastSequenceNumber)
        writer.put(optional: newestStamp)
        writer.put(trimmedThrough)
        writer.put(unretainedThrough)
        writer.put(ifAny: retention)
        writer.put(dispatchers.values.sorted { $0.number < $1.number })
        writer.put(routes)
        writer.put(kept)
        writer.put(deadLetters)
        writer.put(ids)
        writer.put(segments)
        writer.put(damaged)
        writer.put(ifAny: erased)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        lastSequenceNumber = try reader.takeSequenceNumber()
        newestStamp = try reader.takeOptional()
        trimmedThrough = try reader.takeSequenceNumber()
        unretainedThrough = try reader.takeSequenceNumber()
        retention = try reader.takeIfAny()
        for dispatcher in try reader.take([StoredDispatcher].self) { dispatchers[dispatcher.number] = dispatcher }
        (routes, kept) = (try reader.take(), try reader.take())
        (deadLetters, ids) = (try reader.take(), try reader.take())
        (segments, damaged, erased) = (try reader.take(), try reader.take(), try reader.takeIfAny())
    }
}
