import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateSeeds

@testable import HeadgateServer
@testable import HeadgateStore

/// A history of a store alone: any requests that a queue may make, in any order, on an unreliable disk, with crashes at
/// every call. It is much faster than a history of a whole service, so that many more crashes are tested.
final class StoreHistory {
    let record: Record
    private let medium = SimulatedMedium()
    private let durability: Durability
    private let segmentSize: Int
    /// The size of a small disk, or nil if it is unlimited.
    private let room: DiskRoom?
    private var disk: SimulatedDisk
    private var executor: SimulatedStoreExecutor
    private var queue: StoreQueue
    /// The keys of the store, or nil if it is never encrypted.
    private let keys: KeySwitches?
    /// The damage of frames, or nil if none is damaged.
    private let damage: StoreDamage?
    private var isOpen = false
    /// True if the end of this life was handled.
    private var isOver = true

    /// The number of steps before the end of a history.
    static let steps = 120

    init(seed: Seed) {
        record = Record(seed: seed)
        keys = seed.number.isMultiple(of: 3) ? KeySwitches(seed) : nil
        durability = record.oneIn(3) ? .normal : .full
        room = record.oneIn(4) ? DiskRoom(record) : nil
        segmentSize = room?.segmentSize ?? record.pick([1, 2, 4, 16]) << 10
        // The frames to damage are searched without a key, and what is kept of them takes room.
        damage = seed.number % 3 == 1 && room == nil ? StoreDamage(seed, durability) : nil
        medium.room = room?.bytes
        disk = SimulatedDisk(medium, record)
        executor = SimulatedStoreExecutor(options: StoreOptions(directory: "/data"), disk, SimulatedScheduler(), record)
        queue = StoreQueue(sizes: room == nil ? [0, 40, 300, 900] : [300, 2_000, 2_000])
    }

    func run() throws {
        for step in 1...StoreHistory.steps where record.violation == nil {
            record.beginStep(step)
            if isOpen { act() } else { start(isWell: record.oneIn(3)) }
            if disk.isDown, !isOver { end(.killed) }
        }
        record.beginStep(StoreHistory.steps + 1)
        if record.violation == nil { rest() }
        if let violation = record.violation { throw violation }
    }

    // MARK: Lives

    private func start(isWell: Bool) {
        isOver = false
        disk = SimulatedDisk(medium, record)
        if !isWell { trouble() }
        var options = StoreOptions(directory: "/data", durability: durability)
        options.disk = disk
        options.keyring = keys?.next(record)
        options.leastPacked = record.pick([1, 400, 4_096])
        (options.segmentSize, options.blockSize, options.mostUnfiledIDBytes) = (segmentSize, 512, 256)
        options.leastSegmentSize = room?.leastSegmentSize ?? segmentSize
        let scheduler = SimulatedScheduler()
        options.wall = { Timestamp(milliseconds: 0) }
        executor = SimulatedStoreExecutor(options: options, disk, scheduler, record)
        do throws(StoreFault) {
            let state = try executor.open {}
            guard !disk.isDown else { return }
            isOpen = true
            let (chunks, deadLetters) = disk.whileWell { (executor.readAll(), executor.readAllDeadLetters()) }
            record.note(
                "started: \(state.lastSequenceNumber) is the last, dispatchers \(state.dispatchers.map(\.number).sorted()), "
                    + "\(deadLetters.count) letters")
            if !state.warnings.isEmpty { record.count(.frameLeftOut) }
            queue.began(state, chunks, deadLetters, damage, record)
            damage?.started()
        } catch {
            record.count(.startFailed)
            record.note("does not start: \(error.message)")
            let isToBlame = disk.hasFailed || disk.isDown || disk.mood.failsToSync != nil || disk.mood.isFull
            record.insist(isToBlame, "the store does not open: \(error.message)")
            end(.killed)
        }
    }

    private func trouble() {
        if record.oneIn(2) { disk.callsToLive = record.number(0...40) }
        if record.oneIn(6) { disk.callsToFault = record.number(0...20) }
        if record.oneIn(6) { disk.mood.failsToSync = record.pick([1, 2, 5]) }
        if record.oneIn(8) { disk.mood.fails = record.pick([3, 20]) }
        if record.oneIn(10) { disk.mood.isFull = true }
    }

    private func end(_ end: LifeEnd) {
        record.note("gone: \(end)")
        disk.end()
        executor.end()
        if end == .powerless || record.oneIn(2) {
            record.note("the machine loses power")
            record.count(.powerLost)
            medium.losePower(record)
            queue.ended(.powerless(durability))
        } else {
            record.count(.killed)
            queue.ended(.orderly)
        }
        endDamage()
        (isOpen, isOver) = (false, true)
    }

    /// Damages frames after the end of a life.
    private func endDamage() {
        guard let damage else { return }
        damage.lifeEnded(medium, record)
        queue.lost(damage.lost)
    }

    // MARK: Steps

    private func act() {
        if let damage {
            damage.strikeInLife(medium, record)
            queue.lost(damage.lost)
        }
        switch record.number(0...99) {
        case 0...2 where room != nil: fill()
        case 0...29:
            queue.skip(damage?.gap() ?? 0)
            ask(queue.group(record))
        case 30...49: ask(queue.settling(record))
        case 50...57: ask(queue.somethingElse(record))
        case 58...79: turn()
        case 80...83: read()
        case 84...85: readDeadLetters()
        case 86...90: trouble()
        case 91...94: calm()
        case 95 where keys?.rekeys() == true: ask(.rekey)
        case 95: stop()
        default: end(record.oneIn(2) ? .killed : .powerless)
        }
    }

    private func ask(_ job: StoreAsk?) {
        guard let job else { return }
        if case .append(let group) = job { damage?.requested(group) }
        put(job)
        record.note("asks for \(job.inWords)")
        if record.oneIn(2) { turn() }
    }

    /// Appends events without settling any, until the disk is full.
    private func fill() {
        for _ in 0..<100 where !disk.isDown && record.violation == nil {
            ask(queue.group(record))
            turn()
            guard !queue.lacksRoom else { return record.count(.diskFilled) }
        }
    }

    private func turn() {
        executor.takeTurn()
        let news = executor.takeNews()
        guard !disk.isDown else { return }
        for news in news {
            let lost = damage?.lost.count ?? 0
            record.insist(news.losses.quarantined <= lost, "\(news.losses.quarantined) events are damaged")
            record.insist(
                news.losses.droppedDeadLetters.isEmpty, "dead letters are dropped: \(news.losses.droppedDeadLetters)")
            for answer in news.answers { answer() }
        }
    }

    private func put(_ ask: StoreAsk) {
        executor.put(ask.job { [unowned self] in queue.answered($0, record) })
        queue.requested(ask)
    }

    private func calm() {
        (disk.mood, disk.callsToFault, disk.callsToLive) = (SimulatedDisk.Mood(), nil, nil)
    }

    private func read() {
        put(.read(after: queue.readFrom(record)))
        turn()
    }

    @discardableResult
    private func inspect() -> [StoredDeadLetter] {
        let deadLetters = disk.whileWell { executor.readAllDeadLetters() }
        queue.found(deadLetters, record)
        if !deadLetters.isEmpty { record.count(.deadLettersListed) }
        return deadLetters
    }

    private func readDeadLetters() {
        let deadLetters = inspect()
        guard !deadLetters.isEmpty, record.oneIn(2) else { return }
        var query = DeadLetterQuery(
            dispatcher: record.oneIn(2) ? deadLetters[0].deadLetter.dispatcher : nil, limit: .max)
        query.through = deadLetters[record.number(0...deadLetters.count - 1)].number
        ask(.purgeDeadLetters(query))
    }

    /// Carries out all requests, and closes the store.
    private func stop() {
        put(.close)
        for _ in 0..<20 where executor.isOpen && !disk.isDown { turn() }
        guard !disk.isDown else { return }
        record.insist(!executor.isOpen, "the store does not close")
        record.count(.stoppedInOrder)
        record.note("stopped")
        disk.end()
        executor.end()
        queue.ended(.orderly)
        endDamage()
        (isOpen, isOver) = (false, true)
    }

    // MARK: End of the run

    /// Ends the history without further failures: settles all events, appends others, and checks the contents after a
    /// start.
    private func rest() {
        if !isOpen { start(isWell: true) }
        guard isOpen else { return }
        calm()
        quiet()
        if room != nil { makeRoom() }
        let before = queue.book.newest
        for _ in 0..<5 where queue.book.newest == before {
            ask(queue.group(record))
            quiet()
        }
        record.insist(queue.book.newest > before, "the store accepts no event")
        readOn()
        stop()
        if record.violation == nil { start(isWell: true) }
        if isOpen { expectOneKey() }
    }

    /// Checks that nothing is left under another key than the present one, once everything is rewritten.
    private func expectOneKey() {
        guard let keys, record.violation == nil, room == nil else { return }
        ask(.rekey)
        quiet()
        for (path, node) in medium.names where path.hasSuffix(".log") {
            guard case .header(let header) = node.bytes.withUnsafeBytes(LogHeader.read) else { continue }
            record.insist(keys.isPresent(header.seal), "\(path) is under key \(header.seal?.key ?? 0)")
        }
    }

    private func quiet() {
        for _ in 0..<300 where executor.hasWork && record.violation == nil { turn() }
        record.insist(!executor.hasWork, "the store never becomes idle")
    }

    /// Settles all events in small steps and deletes the dead letters, after which there must be room.
    private func makeRoom() {
        inspect()
        ask(.purgeDeadLetters(DeadLetterQuery(limit: .max)))
        quiet()
        while record.violation == nil, let job = queue.settlingSome(record) {
            ask(job)
            if record.oneIn(4) { quiet() }
        }
        quiet()
        for _ in 0..<2 {
            ask(queue.settlingAll())
            quiet()
        }
        record.insist(!queue.lacksRoom, "there is no room for the settlements of all events")
        inspect()
        ask(.purgeDeadLetters(DeadLetterQuery(limit: .max)))
        quiet()
    }

    /// Checks that reading through the store returns every needed event.
    private func readOn() {
        let needed = queue.book.needed(after: 0)
        var (found, position): ([SequenceNumber], SequenceNumber) = ([], 0)
        while record.violation == nil {
            queue.lastRead = nil
            put(.read(after: position))
            quiet()
            guard let chunk = queue.lastRead else { break }
            record.insist(chunk.lastSequenceNumber > position, "a read after \(position) makes no progress")
            found += chunk.map(\.sequenceNumber)
            position = chunk.lastSequenceNumber
        }
        let missing = Set(needed).subtracting(found)
        record.insist(missing.isEmpty, "\(missing.sorted()) are needed but were not read")
    }
}

extension StoreAsk {
    fileprivate var inWords: String {
        switch self {
        case .append(let group):
            "\(group.chunk.firstSequenceNumber)...\(group.chunk.lastSequenceNumber) behind \(group.behind)"
        case .write(let changes): changes.map(\.inWords).joined(separator: ", ")
        case .purgeDeadLetters(let query): "purge dead letters through \(query.through)"
        default: "something"
        }
    }
}

extension StoreChange {
    fileprivate var inWords: String {
        switch self {
        case .settled(let number, let settled):
            "\(number) at \(settled.position) \(settled.ranges.map { "\($0.lowerBound)-\($0.upperBound)" })"
        case .deadLetter(let deadLetter): "letter of \(deadLetter.sequenceNumber) for \(deadLetter.dispatcher)"
        case .dispatcher(let dispatcher): "\(dispatcher.id) at \(dispatcher.position)"
        default: "\(self)"
        }
    }
}
