import HeadgateCore
import HeadgateCoreTesting
import HeadgateData

@testable import HeadgateServer
@testable import HeadgateStore

/// The requests to a store, made as a queue does: numbers ascend, groups refer to the groups before them, only stored
/// events are settled, and a trim follows the settlements that allow it.
struct StoreQueue {
    /// The contents required while the machine has power.
    private(set) var book = StoreBook()
    /// The contents required after a power failure. Changes alone are not synced, but changes before a safe event are.
    private var safeBook = StoreBook()
    private var unsynced: [(requested: Requested, isDone: Bool)] = []
    /// True if the last request failed for lack of room.
    private(set) var lacksRoom = false
    /// The result of the last read.
    var lastRead: Chunk?
    /// Unanswered requests, in order.
    private var waiting: [Requested] = []
    /// The last number given in this life.
    private var given: SequenceNumber = 0
    private var lastRoute: RouteNumber = 0
    private var lastDispatcher: DispatcherNumber = 0
    /// The last settlement of each dispatcher.
    private var settled: [DispatcherNumber: Settled] = [:]
    /// Partial settlements written in this life, and in the previous one, where the lost ones are repeated.
    private var said: [[StoreChange]] = []
    private var saidBefore: [[StoreChange]] = []
    /// Dropped dispatchers that the store may still have.
    private var dropped: Set<DispatcherNumber> = []
    private var routes: [RouteNumber: [DispatcherNumber]] = [:]
    private var newRoutes: [RouteNumber: [DispatcherNumber]] = [:]
    private var initialState = InitialState()
    /// Events that were dead-lettered.
    private var dead: Set<StoreBook.DeadLetterKey> = []
    /// Numbers of dead letters that were read and probably still exist.
    private var deadLetters: [DeadLetterNumber] = []
    /// The possible sizes of events, in bytes.
    private let sizes: [Int]
    /// The end of the previous life.
    private var end = End.orderly

    /// The contents that survive the end of a life.
    enum End {
        /// Everything that was written.
        case orderly
        /// Only what is safe without power; with durability `normal`, unsynced contents survive only by chance.
        case powerless(Durability)
    }

    private enum Requested {
        /// - Parameter dependsOnFailed: True if a group before it could not be stored.
        case group(AppendGroup, dependsOnFailed: Bool)
        case write([StoreChange])
        case purge(DeadLetterQuery)
        case read
        case rekey
        case close

        func enter(into book: inout StoreBook, isDone: Bool) {
            switch self {
            case .group(let group, _): book.append(group, isDone)
            case .write(let changes): book.write(changes, isDone)
            case .purge(let query): book.purge(query, isDone)
            case .read, .rekey, .close: break
            }
        }
    }

    init(sizes: [Int]) {
        self.sizes = sizes
    }

    // MARK: Restarts

    mutating func began(
        _ state: StoredState, _ chunks: [Chunk], _ table: [StoredDeadLetter], _ damage: StoreDamage?,
        _ record: Record
    ) {
        if case .powerless(.full) = end { book = safeBook }
        book.reopened(state, chunks, table, isLax: isLax || damage?.cutsOff == true, damage, record)
        (safeBook, unsynced, end) = (book, [], .orderly)
        given = state.lastSequenceNumber
        routes = state.routes
        (newRoutes, initialState, waiting, dropped) = ([:], InitialState(), [], [])
        settled = Dictionary(uniqueKeysWithValues: state.dispatchers.map { ($0.number, $0.settled) })
        lastDispatcher = max(lastDispatcher, state.dispatchers.map(\.number).max() ?? 0)
        lastRoute = max(lastRoute, state.routes.keys.max() ?? 0)
        deadLetters = table.map(\.number)
        if !said.isEmpty { saidBefore = said }
        said = []
    }

    private var isLax: Bool {
        if case .powerless(let durability) = end { durability != .full } else { false }
    }

    mutating func ended(_ end: End) {
        for requested in waiting { finish(requested, isDone: false) }
        waiting = []
        guard case .powerless = end else { return }
        for (requested, _) in unsynced { requested.enter(into: &safeBook, isDone: false) }
        safeBook.forgetDeadLetterNumbers()
        (unsynced, self.end) = ([], end)
    }

    /// Notes that events may be lost.
    mutating func lost(_ numbers: Set<SequenceNumber>) {
        book.lost(numbers)
        safeBook.lost(numbers)
    }

    // MARK: Requests

    /// Gives numbers to events that the store refuses.
    mutating func skip(_ count: SequenceNumber) { given += count }

    mutating func requested(_ job: StoreAsk) {
        switch job {
        case .append(let group): waiting.append(.group(group, dependsOnFailed: false))
        case .write(let changes): waiting.append(.write(changes))
        case .purgeDeadLetters(let query): waiting.append(.purge(query))
        case .read: waiting.append(.read)
        case .rekey: waiting.append(.rekey)
        case .close: waiting.append(.close)
        }
    }

    /// Returns an append of new events, or nil if no dispatcher would get them.
    mutating func group(_ record: Record) -> StoreAsk? {
        if settled.isEmpty || record.oneIn(20) { addDispatcher(record) }
        if routes.isEmpty || record.oneIn(10) { addRoute(record) }
        let known = routes.keys.sorted()
        let count = record.oneIn(3) ? record.number(2...12) : 1
        let events = (1...count).map { _ -> (number: SequenceNumber, route: RouteNumber) in
            given += record.oneIn(30) ? 2 : 1
            return (given, record.pick(known))
        }
        let hasIDs = record.oneIn(3)
        let ids = RecentIDs(
            lastSequenceNumber: given, receivedStamp: given, count: count,
            bytes: (0..<count * 32).map { UInt8(truncatingIfNeeded: Int(given) + $0) })
        let sample = AppendGroup.sample(
            events, size: record.pick(sizes), newRoutes: newRoutes, recentIDs: hasIDs ? ids : nil)
        var requeued: [DeadLetterNumber] = []
        if !deadLetters.isEmpty, record.oneIn(6) {
            requeued = [deadLetters.remove(at: record.number(0...deadLetters.count - 1))]
        }
        let group = sample.with(
            behind: newestInFlight ?? book.newest, initialState: initialState,
            forgottenIDs: record.oneIn(20) ? SequenceNumber(record.number(0...Int(book.newest))) : 0, requeued: requeued
        )
        newRoutes = [:]
        return .append(group)
    }

    /// The newest event in an outstanding group that may still be stored.
    private var newestInFlight: SequenceNumber? {
        for case .group(let group, let dependsOnFailed) in waiting.reversed() {
            return dependsOnFailed ? nil : group.chunk.lastSequenceNumber
        }
        return nil
    }

    private mutating func addDispatcher(_ record: Record) {
        lastDispatcher += 1
        let dispatcher = StoredDispatcher(
            number: lastDispatcher, id: "d\(lastDispatcher)", settled: Settled(through: book.newest))
        settled[lastDispatcher] = dispatcher.settled
        initialState.dispatchers.append(dispatcher)
        if record.oneIn(3) { initialState.kept["with\(lastDispatcher)"] = [UInt8(truncatingIfNeeded: lastDispatcher)] }
    }

    private mutating func addRoute(_ record: Record) {
        lastRoute += 1
        var members = settled.keys.sorted().filter { _ in record.oneIn(2) }
        if members.isEmpty { members = [record.pick(settled.keys.sorted())] }
        routes[lastRoute] = members
        newRoutes[lastRoute] = members
    }

    /// Returns a write in which a dispatcher settles some events, one of which may be dead-lettered.
    mutating func settling(_ record: Record) -> StoreAsk? {
        if !saidBefore.isEmpty, record.oneIn(2) {
            let changes = saidBefore.removeFirst()
            if settleAgain(changes) { return .write(changes) }
        }
        guard let number = saved.randomElement(record), let known = settled[number] else { return nil }
        let end = max(known.position, book.newest)
        let position = SequenceNumber(
            record.number(Int(known.position)...Int(record.oneIn(3) ? end : min(end, known.position + 6))))
        var ranges = known.ranges
        if record.oneIn(4), position < end {
            let first = SequenceNumber(record.number(Int(position) + 1...Int(end)))
            ranges.append(first...min(end, first + SequenceNumber(record.number(0...5))))
        }
        var next = Settled(through: position, and: ranges)
        if next.ranges.count > 4 { next = Settled(through: next.ranges[1].upperBound, and: next.ranges) }
        settled[number] = next
        var changes = [StoreChange.settled(number, next)]
        let died = StoreBook.DeadLetterKey(dispatcher: number, number: position)
        if position > known.position, record.oneIn(3), dead.insert(died).inserted {
            changes.append(.deadLetter(deadLetter(died, record)))
        }
        if record.oneIn(3) { changes = allSettled + changes.dropFirst() + [trim] } else { said.append(changes) }
        return .write(changes)
    }

    /// Records a settlement of an earlier life that is written again. Returns true if it is new.
    private mutating func settleAgain(_ changes: [StoreChange]) -> Bool {
        guard case .settled(let number, let next)? = changes.first, saved.contains(number), let known = settled[number],
            next.position > known.position, max(next.position, next.ranges.last?.upperBound ?? 0) <= book.newest,
            Settled(through: next.position, and: known.ranges + next.ranges) == next
        else { return false }
        settled[number] = next
        said.append(changes)
        return true
    }

    /// Returns a write in which a dispatcher settles a few more events, or nil if all are settled.
    mutating func settlingSome(_ record: Record) -> StoreAsk? {
        let newest = book.newest
        let behind = saved.filter { (settled[$0]?.position ?? newest) < newest }
        guard let number = behind.randomElement(record), let known = settled[number] else { return nil }
        let position = min(newest, known.position + SequenceNumber(record.number(1...5)))
        let next = Settled(through: position, and: known.ranges)
        settled[number] = next
        return .write(record.oneIn(3) ? allSettled + [trim] : [.settled(number, next)])
    }

    private func deadLetter(_ key: StoreBook.DeadLetterKey, _ record: Record) -> DeadLetter {
        DeadLetter(
            dispatcher: key.dispatcher, sequenceNumber: key.number, reason: .maxAttempts, status: 503, answer: "busy",
            attempts: 3, firstFailedAt: Timestamp(milliseconds: 5), diedAt: Timestamp(milliseconds: 6),
            record: AppendGroup.sample(key.number...key.number, size: record.pick([10, 200, 600])).chunk.bytes)
    }

    /// Returns a write in which all dispatchers settle all stored events.
    mutating func settlingAll() -> StoreAsk {
        for number in saved { settled[number] = Settled(through: max(book.newest, settled[number]?.position ?? 0)) }
        return .write(allSettled + [trim])
    }

    private var allSettled: [StoreChange] {
        dropped.sorted().map { .forgetDispatcher($0) } + saved.map { .settled($0, settled[$0] ?? Settled(through: 0)) }
    }

    /// The dispatchers that the store may know. Others have settled nothing.
    private var saved: [DispatcherNumber] {
        settled.keys.filter { number in !initialState.dispatchers.contains { $0.number == number } }.sorted()
    }

    /// A trim to the lowest position. It is written together with the settlements, never alone.
    private var trim: StoreChange { .trim(through: settled.values.map(\.position).min() ?? book.newest) }

    mutating func somethingElse(_ record: Record) -> StoreAsk? {
        switch record.number(0...7) {
        case 7:
            let bytes = record.pick([2_000, 20_000, Int.max])
            return .write([.retain(record.oneIn(3) ? nil : Retention(maxBytes: bytes))])
        case 0:
            return .write([
                .keep("name\(record.number(1...3))", record.oneIn(3) ? nil : [UInt8(record.number(0...255))])
            ])
        case 1: return .write([.forgetIDs(through: SequenceNumber(record.number(0...Int(book.newest))))])
        case 2: return forgetRoute(record)
        case 3: return forgetDispatcher(record)
        case 4:
            guard let number = settled.keys.sorted().randomElement(record),
                let known = book.dispatchers[number]?.values.first ?? nil
            else { return nil }
            let since: Int64? = record.oneIn(2) ? Int64(record.number(1...9)) : nil
            return .write([
                .dispatcher(
                    StoredDispatcher(
                        number: number, id: known.id, settled: settled[number] ?? known.settled, orphanedSince: since))
            ])
        default:
            addDispatcher(record)
            guard record.oneIn(2), let dispatcher = initialState.dispatchers.last else { return nil }
            return .write([.dispatcher(dispatcher)])
        }
    }

    /// Returns a write that drops a route without pending or outstanding events.
    private mutating func forgetRoute(_ record: Record) -> StoreAsk? {
        guard waiting.isEmpty, let route = routes.keys.sorted().randomElement(record), newRoutes[route] == nil else {
            return nil
        }
        let isWaitedFor = book.events.contains { number, event in
            event.values.contains { $0?.route == route } && isNeeded(number, by: routes[route] ?? [])
        }
        guard !isWaitedFor else { return nil }
        routes[route] = nil
        return .write([.forgetRoutes([route])])
    }

    private func isNeeded(_ number: SequenceNumber, by members: [DispatcherNumber]) -> Bool {
        members.contains { member in
            book.dispatchers[member]?.values.contains { $0?.settled.contains(number) == false } == true
        }
    }

    private mutating func forgetDispatcher(_ record: Record) -> StoreAsk? {
        guard waiting.isEmpty, settled.count > 1, let number = settled.keys.sorted().randomElement(record) else {
            return nil
        }
        settled[number] = nil
        initialState.dispatchers.removeAll { $0.number == number }
        dropped.insert(number)
        return .write([.forgetDispatcher(number)])
    }

    func readFrom(_ record: Record) -> SequenceNumber { SequenceNumber(record.number(0...Int(book.newest))) }

    // MARK: Answers

    mutating func found(_ table: [StoredDeadLetter], _ record: Record) {
        book.check(table, record)
        safeBook.learn(table)
        deadLetters = table.map(\.number)
    }

    mutating func answered(_ outcome: StoreAnswer, _ record: Record) {
        guard !waiting.isEmpty else { return record.insist(false, "answer without a request: \(outcome)") }
        let requested = waiting.removeFirst()
        if case .done(let fault) = outcome { lacksRoom = if case .noRoom? = fault { true } else { false } }
        switch (requested, outcome) {
        case (.group(let group, let dependsOnFailed), .done(let fault)):
            record.note("\(group.chunk.lastSequenceNumber): \(fault?.message ?? "stored")")
            record.insist(
                fault != nil || !dependsOnFailed, "\(group.chunk.lastSequenceNumber) is stored after a failed group")
            finish(requested, isDone: fault == nil)
            if fault == nil { saved(group) } else { markFailed(group) }
            if fault == nil, !group.requeued.isEmpty { record.count(.requeued) }
        case (.write(let changes), .done(let fault)):
            record.note("a change: \(fault?.message ?? "written")")
            finish(requested, isDone: fault == nil)
            if fault == nil { for case .forgetDispatcher(let number) in changes { dropped.remove(number) } }
        case (.purge, .purged(let result)):
            let count = try? result.get()
            if count ?? 0 > 0 { record.count(.deadLettersPurged) }
            finish(requested, isDone: count != nil)
        case (.read, .read(.success(let chunk))):
            lastRead = chunk
            if let chunk { book.check(chunk, record) }
        case (.read, .read(.failure)), (.rekey, .rekeyed), (.close, .closed): break
        default: record.insist(false, "answered out of order: \(outcome)")
        }
    }

    private mutating func finish(_ requested: Requested, isDone: Bool) {
        requested.enter(into: &book, isDone: isDone)
        unsynced.append((requested, isDone))
        guard case .group = requested, isDone else { return }
        for (requested, isDone) in unsynced { requested.enter(into: &safeBook, isDone: isDone) }
        unsynced = []
    }

    private mutating func saved(_ group: AppendGroup) {
        initialState.dispatchers.removeAll { dispatcher in
            group.initialState.dispatchers.contains { $0.number == dispatcher.number }
        }
        for name in group.initialState.kept.keys { initialState.kept[name] = nil }
    }

    /// Marks the outstanding groups after a failed one, on which they depend.
    private mutating func markFailed(_ group: AppendGroup) {
        var unsaved = group.newRoutes
        for (index, requested) in waiting.enumerated() {
            guard case .group(let next, _) = requested else { continue }
            waiting[index] = .group(next, dependsOnFailed: true)
            unsaved.merge(next.newRoutes) { $1 }
        }
        for (route, members) in unsaved where routes[route] != nil { newRoutes[route] = members }
    }
}

extension Array {
    fileprivate func randomElement(_ record: Record) -> Element? {
        isEmpty ? nil : record.pick(self)
    }
}
