import HeadgateCore

/// The model of a store in a history without a service: what the store must have after a start, and what it may have.
///
/// Each number is used once within a life, as by the queue. Each kind of content is modelled separately.
struct StoreBook {
    /// An event offered under a number.
    struct Offer: Equatable {
        let record: [UInt8]
        let route: RouteNumber
    }

    struct DeadLetterKey: Hashable {
        let dispatcher: DispatcherNumber
        let number: SequenceNumber

        init(dispatcher: DispatcherNumber, number: SequenceNumber) {
            (self.dispatcher, self.number) = (dispatcher, number)
        }

        init(_ stored: StoredDeadLetter) {
            self.init(dispatcher: stored.deadLetter.dispatcher, number: stored.deadLetter.sequenceNumber)
        }
    }

    private(set) var dispatchers: [DispatcherNumber: Perhaps<StoredDispatcher>] = [:]
    private(set) var routes: [RouteNumber: Perhaps<[DispatcherNumber]>] = [:]
    private(set) var events: [SequenceNumber: Perhaps<Offer>] = [:]
    /// All events that were ever offered under a number.
    private var offers: [SequenceNumber: [Offer]] = [:]
    private(set) var deadLetters: [DeadLetterKey: Perhaps<DeadLetter>] = [:]
    private(set) var deadLetterNumbers: [DeadLetterNumber: DeadLetterKey] = [:]
    private(set) var ids: [SequenceNumber: Perhaps<RecentIDs>] = [:]
    private(set) var kept: [String: Perhaps<[UInt8]>] = [:]
    /// The newest stored event.
    var newest: SequenceNumber { ends.last ?? start }
    /// The last number of the latest start.
    private var start: SequenceNumber = 0
    /// The newest event of each group since then.
    private var ends: [SequenceNumber] = []
    /// The events that were lost at the latest start. After more damage, a start may leave out fewer numbers than before.
    private var lostAtStart: Set<SequenceNumber> = []
    /// The highest numbers up to which events, or ids, may be dropped.
    private var trimmed: SequenceNumber = 0
    private var forgotten: SequenceNumber = 0

    // MARK: Completed operations

    /// Records a group that was appended.
    /// - Parameter isDone: True if the group was acknowledged.
    mutating func append(_ group: AppendGroup, _ isDone: Bool) {
        for (route, members) in group.newRoutes { routes[route, default: Perhaps()].change(isDone) { _ in members } }
        for dispatcher in group.initialState.dispatchers {
            // The store does not overwrite a known dispatcher, except for the time since which it is orphaned.
            dispatchers[dispatcher.number, default: Perhaps()].change(isDone) { known in
                var next = known ?? dispatcher
                next.orphanedSince = dispatcher.orphanedSince
                return next
            }
        }
        for (name, value) in group.initialState.kept { kept[name, default: Perhaps()].change(isDone) { $0 ?? value } }
        if let ids = group.recentIDs {
            self.ids[ids.lastSequenceNumber, default: Perhaps()].change(isDone) { _ in ids }
        }
        forgotten = max(forgotten, group.forgottenIDs)
        for number in group.requeued { deadLetterNumbers[number].map { removeDeadLetter($0, isDone) } }
        for event in group.chunk {
            let offer = Offer(record: event.record, route: event.route)
            events[event.sequenceNumber, default: Perhaps()].change(isDone) { _ in offer }
            offers[event.sequenceNumber, default: []].append(offer)
        }
        if isDone { ends.append(group.chunk.lastSequenceNumber) }
    }

    mutating func write(_ changes: [StoreChange], _ isDone: Bool) {
        for change in changes { write(change, isDone) }
    }

    private mutating func write(_ change: StoreChange, _ isDone: Bool) {
        switch change {
        case .dispatcher(let dispatcher):
            dispatchers[dispatcher.number, default: Perhaps()].change(isDone) { _ in dispatcher }
        case .forgetDispatcher(let number):
            dispatchers[number, default: Perhaps()].change(isDone) { _ in nil }
            for key in deadLetters.keys where key.dispatcher == number { removeDeadLetter(key, isDone) }
        case .settled(let number, let settled):
            dispatchers[number, default: Perhaps()].change(isDone) { known in
                var next = known
                next?.settled = settled
                return next
            }
        case .deadLetter(let deadLetter):
            let key = DeadLetterKey(dispatcher: deadLetter.dispatcher, number: deadLetter.sequenceNumber)
            deadLetters[key, default: Perhaps()].change(isDone) { _ in deadLetter }
        // Not used in these histories.
        case .limitDeadLetters: break
        case .trim(let through): trimmed = max(trimmed, through)
        case .forgetRoutes(let numbers):
            for number in numbers { routes[number, default: Perhaps()].change(isDone) { _ in nil } }
        case .forgetIDs(let through): forgotten = max(forgotten, through)
        // The store may contain retained events but need not.
        case .retain: break
        case .keep(let name, let value): kept[name, default: Perhaps()].change(isDone) { _ in value }
        }
    }

    mutating func purge(_ query: DeadLetterQuery, _ isDone: Bool) {
        for (number, key) in deadLetterNumbers {
            guard case .some(let deadLetter?) = deadLetters[key]?.values.first(where: { $0 != nil }) else { continue }
            if query.includes(StoredDeadLetter(number: number, deadLetter: deadLetter)) {
                removeDeadLetter(key, isDone)
            }
        }
    }

    private mutating func removeDeadLetter(_ key: DeadLetterKey, _ isDone: Bool) {
        deadLetters[key, default: Perhaps()].change(isDone) { _ in nil }
    }

    /// Notes that events may be lost, with the ids that came with them.
    mutating func lost(_ numbers: Set<SequenceNumber>) {
        for number in numbers {
            events[number]?.change(false) { _ in nil }
            ids[number]?.change(false) { _ in nil }
        }
    }

    // MARK: Required contents

    /// Returns the events that must exist and that a dispatcher certainly needs, ascending.
    func needed(after position: SequenceNumber) -> [SequenceNumber] {
        events.compactMap { number, event in
            guard number > max(position, trimmed), event.isThere, let route = event.values.first??.route else {
                return nil
            }
            return isNeeded(number, route) ? number : nil
        }.sorted()
    }

    private func isNeeded(_ number: SequenceNumber, _ route: RouteNumber) -> Bool {
        guard let members = routes[route]?.values.first ?? nil else { return false }
        return members.contains { member in
            dispatchers[member]?.values.allSatisfy { $0?.settled.contains(number) == false } == true
        }
    }

    // MARK: Checks after a start

    /// Checks the events of a read: each must have been offered, in order.
    /// - Parameter isLax: True if an event that was offered earlier is also allowed.
    func check(_ chunk: Chunk, isLax: Bool = false, _ record: Record) {
        var last: SequenceNumber = 0
        for event in chunk {
            let offer = Offer(record: event.record, route: event.route)
            let isOffered =
                isLax ? offers[event.sequenceNumber]?.contains(offer) : events[event.sequenceNumber]?.mayBe(offer)
            record.insist(isOffered == true, "\(event.sequenceNumber) differs from the event offered")
            record.insist(event.sequenceNumber > last, "\(event.sequenceNumber) was read after \(last)")
            last = event.sequenceNumber
        }
    }

    /// Checks dead letters that were read, and records their numbers.
    mutating func check(_ found: [StoredDeadLetter], _ record: Record) {
        for stored in found {
            let key = DeadLetterKey(stored)
            record.insist(
                deadLetters[key]?.mayBe(stored.deadLetter) == true,
                "dead letter \(stored.number), of \(key.number), was never written")
            let known = deadLetterNumbers[stored.number]
            record.insist(known == nil || known == key, "dead letter number \(stored.number) was reused")
        }
        learn(found)
    }

    /// Forgets the numbers of dead letters, since the number of a lost one is given again.
    mutating func forgetDeadLetterNumbers() { deadLetterNumbers = [:] }

    mutating func learn(_ found: [StoredDeadLetter]) {
        for stored in found { deadLetterNumbers[stored.number] = DeadLetterKey(stored) }
    }

    /// Checks the contents after a start, which are certain from then on.
    /// - Parameter isLax: True if the newest contents may be lost.
    mutating func reopened(
        _ state: StoredState, _ chunks: [Chunk], _ table: [StoredDeadLetter], isLax: Bool, _ damage: StoreDamage?,
        _ record: Record
    ) {
        checkWhole(state, chunks, isLax, damage, record)
        if isLax {
            forgetDeadLetterNumbers()
            learn(table)
        } else {
            check(table, record)
        }
        let found = chunks.flatMap { $0.map(\.sequenceNumber) }
        if found.contains(where: { events[$0]?.isThere == false }) { record.count(.unansweredKept) }
        let missing = Set(needed(after: 0)).subtracting(found)
        if isLax {
            // Only the newest events may be lost, or those of segments that a frame behind a damaged one has replaced.
            let first = missing.min() ?? .max
            let behind = found.filter { $0 > first && events[$0]?.isThere == true }
            record.insist(
                behind.isEmpty || damage?.cutsOff == true, "\(first) is lost, but \(behind) after it are not")
        } else {
            record.insist(missing.isEmpty, "\(missing.sorted()) are lost")
            let lost = damage?.lost ?? []
            let newest = ends.last { !lost.contains($0) } ?? (lost.isSubset(of: lostAtStart) ? start : 0)
            record.insist(state.lastSequenceNumber >= newest, "\(newest) may be reused")
            checkValues(state, table, record)
        }
        adopt(state, chunks, table)
        lostAtStart = damage?.lost ?? []
    }

    /// Checks what holds after every start.
    private func checkWhole(
        _ state: StoredState, _ chunks: [Chunk], _ isLax: Bool, _ damage: StoreDamage?, _ record: Record
    ) {
        let isExplained = state.warnings.allSatisfy { damage?.explains($0) == true }
        record.insist(isExplained, "the store reports damage: \(state.warnings)")
        let lost = damage?.lost.count ?? 0
        for chunk in chunks { check(chunk, isLax: isLax, record) }
        let all = chunks.flatMap { Array($0) }
        record.insist(Set(all.map(\.sequenceNumber)).count == all.count, "events are stored twice")
        record.insist((all.map(\.sequenceNumber).max() ?? 0) <= state.lastSequenceNumber, "a number may be reused")
        for dispatcher in state.dispatchers {
            let waiting = all.filter { event in
                !dispatcher.settled.contains(event.sequenceNumber)
                    && state.routes[event.route]?.contains(dispatcher.number) == true
            }
            let counted = state.unsettled[dispatcher.number] ?? [:]
            let there = RouteTallies(waiting)
            // A damaged event of a segment with a summary counts until it is read.
            let isRight = lost == 0 ? counted == there : 0...lost ~= counted.total.events - there.total.events
            record.insist(
                isRight, "\(counted.total) are counted for \(dispatcher.id), and there are \(there.total)")
            let end = dispatcher.settled.ranges.last?.upperBound ?? dispatcher.position
            record.insist(end <= state.lastSequenceNumber, "\(end) is settled but was never assigned")
        }
        for event in all where isNeeded(event.sequenceNumber, event.route) {
            record.insist(state.routes[event.route] != nil, "\(event.sequenceNumber) has an unknown route")
        }
    }

    private func checkValues(_ state: StoredState, _ table: [StoredDeadLetter], _ record: Record) {
        for (number, dispatcher) in dispatchers {
            let found = state.dispatchers.first { $0.number == number }
            record.insist(
                dispatcher.mayBe(found), "dispatcher \(number) is \(found as Any), not one of \(dispatcher.values)")
        }
        for (route, members) in routes {
            record.insist(members.mayBe(state.routes[route]), "route \(route) is \(state.routes[route] as Any)")
        }
        for (name, value) in kept {
            record.insist(value.mayBe(state.kept[name]), "\(name) is \(state.kept[name] as Any)")
        }
        for (number, ids) in ids where number > forgotten {
            let found = state.recentIDs.first { $0.lastSequenceNumber == number }
            record.insist(ids.mayBe(found), "the ids of \(number) are \(found == nil ? "lost" : "others")")
        }
        let keys = Set(table.map { DeadLetterKey($0) })
        record.insist(keys.count == table.count, "a dead letter is stored twice")
        for (key, deadLetter) in deadLetters where deadLetter.isThere {
            record.insist(keys.contains(key), "the dead letter of \(key.number) for \(key.dispatcher) is lost")
        }
        let made = Set(state.dispatchers.map(\.number)).subtracting(dispatchers.keys)
        record.insist(made.isEmpty, "the store has unknown dispatchers: \(made)")
    }

    private mutating func adopt(_ state: StoredState, _ chunks: [Chunk], _ table: [StoredDeadLetter]) {
        dispatchers = Dictionary(uniqueKeysWithValues: state.dispatchers.map { ($0.number, Perhaps($0)) })
        routes = state.routes.mapValues { Perhaps($0) }
        kept = state.kept.mapValues { Perhaps($0) }
        ids = Dictionary(state.recentIDs.map { ($0.lastSequenceNumber, Perhaps($0)) }) { $1 }
        let found = chunks.flatMap { Array($0) }
        events = Dictionary(
            found.map { ($0.sequenceNumber, Perhaps(Offer(record: $0.record, route: $0.route))) },
            uniquingKeysWith: { $1 })
        (start, ends) = (state.lastSequenceNumber, [])
        deadLetters = Dictionary(table.map { (DeadLetterKey($0), Perhaps($0.deadLetter)) }) { $1 }
    }
}
