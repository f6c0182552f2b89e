import HeadgateCore
import HeadgateData
import HeadgateSeeds

@testable import HeadgateServer
@testable import HeadgateStore

/// A history of a whole daemon whose operator rewinds dispatchers, erases events, changes keys and takes backups. The
/// daemon may crash at any call of the disk (Behaviour R1 to R5, E1, E2, C1, C2).
///
/// It has only two dispatchers and one client, so it is much faster than a history with all surroundings.
final class KeeperHistory {
    let record: Record
    let book: KeeperBook
    let scheduler = SimulatedScheduler()
    let medium = SimulatedMedium()
    let destinations: [KeeperDestination]
    var keys: KeeperKeys
    private(set) var life: KeeperLife?
    private(set) lazy var client = KeeperClient(self)
    let terms: KeeperLife.Terms

    /// The number of steps before the end of a history.
    static let steps = 130

    init(seed: Seed) {
        let record = Record(seed: Seed(seed.number ^ 0x6b65_6570))
        let book = KeeperBook(record)
        (self.record, self.book) = (record, book)
        destinations = book.queues.map { KeeperDestination($0, book, record) }
        keys = KeeperKeys(record)
        terms = KeeperLife.Terms(record)
    }

    func run(skipping skipped: Set<Int> = []) throws {
        begin()
        for number in 0..<KeeperHistory.steps where !skipped.contains(number) {
            record.beginStep(number)
            act()
            if !record.oneIn(3) { endTurn() }
            if life?.disk.isDown == true { die(record.oneIn(2) ? .powerless : .killed) }
            if let violation = record.violation { throw violation }
        }
        record.beginStep(KeeperHistory.steps)
        rest()
        if let violation = record.violation { throw violation }
    }

    // MARK: Steps

    private func act() {
        guard let life else { return }
        switch record.number(0...99) {
        case 0...27: for _ in 0..<record.number(1...3) { client.track() }
        case 28...51: record.pick(destinations).answer()
        case 52...61: scheduler.advance(by: .milliseconds(record.pick([1, 50, 400, 1_500])))
        case 62...67: client.rewind()
        case 68...73: client.erase()
        case 74...79: client.backUp()
        case 80...83: client.changeKey()
        case 84...87: life.trouble()
        case 88...89: life.calm()
        case 90: die(.killed)
        case 91: die(.powerless)
        case 92...93: restart()
        default: endTurn()
        }
    }

    func endTurn() {
        guard let life else { return }
        life.client.deliver()
        scheduler.endTurn()
        if !record.oneIn(3) { life.executor.takeTurn() }
        // A setting is in force once it is written, which a failure of the disk may undo.
        if life.retention == .long, book.keptBehind == nil, !life.disk.hasFailed {
            book.keptBehind = life.executor.retainedBehind
        }
        life.client.read()
    }

    // MARK: Lives

    private static let mostStarts = 8

    private func begin() {
        for tries in 1...KeeperHistory.mostStarts where life == nil && record.violation == nil {
            let isWell = tries == KeeperHistory.mostStarts || record.oneIn(2)
            keys.choose(record)
            if isWell, keys.areUsed, record.oneIn(3) { tryWrongKey() }
            let retention = KeeperLife.Retention(record, terms)
            if retention != .long { book.keptBehind = nil }
            do {
                let life = try KeeperLife(self, terms, retention, isWell: isWell)
                self.life = life
                if life.executor.retainedBehind == nil { book.keptBehind = nil }
                book.found(erased: life.executor.erased ?? [])
            } catch {
                record.count(.startFailed)
                record.note("the start fails: \(error)")
                record.insist(!isWell, "the daemon does not start: \(error)")
                if record.oneIn(2) { losePower() }
                scheduler.restart()
            }
        }
    }

    /// Starts with another key, which must be refused and change nothing.
    private func tryWrongKey() {
        let logs = medium.names.filter { $0.key.hasSuffix(".log") }
        let areSealed = logs.values.allSatisfy { node in
            guard case .header(let header) = node.bytes.withUnsafeBytes(LogHeader.read) else { return false }
            return header.seal != nil
        }
        guard areSealed, !logs.isEmpty else { return }
        record.count(.wrongKey)
        let before = logs.mapValues(\.bytes)
        let executor = KeeperLife.executor(self, terms, keys.keyring([9]), SimulatedDisk(medium, record), scheduler)
        let state = try? executor.open {}
        record.insist(state == nil, "a store opens without the key of its files")
        executor.end()
        let after = medium.names.filter { $0.key.hasSuffix(".log") }.mapValues(\.bytes)
        record.insist(before == after, "a start without the right key changes the log")
    }

    func die(_ end: LifeEnd) {
        lose(end)
        begin()
    }

    private func restart() {
        lose(life?.stop() == true ? .stopped : .killed)
        begin()
    }

    private func lose(_ end: LifeEnd) {
        guard let ending = life else { return }
        record.note("the daemon is gone: \(end)")
        life = nil
        ending.end()
        if case .powerless = end { losePower() }
        if case .killed = end { record.count(.killed) }
        for destination in destinations { destination.lifeEnded() }
        scheduler.restart()
        var isOrderly = false
        if case .stopped = end { isOrderly = true }
        book.lifeEnded(isOrderly: isOrderly)
        client.lifeEnded()
        client.checkErased(after: "the daemon ended")
    }

    private func losePower() {
        record.count(.powerLost)
        medium.losePower(record)
        scheduler.reboot(after: .seconds(record.number(0...60)))
    }

    // MARK: End of the run

    /// Ends the history without failures. Every event that is neither delivered nor erased must be delivered, and a
    /// backup and a rewind must succeed.
    private func rest() {
        record.note("from now on nothing fails")
        if life == nil { begin() }
        life?.calm()
        quiet()
        for request in client.restfulRequests where record.violation == nil {
            request()
            quiet()
        }
        client.checkEnd()
        guard record.violation == nil else { return }
        lose(life?.stop() == true ? .stopped : .killed)
    }

    private func quiet() {
        for turn in 0..<3_000 where record.violation == nil && !isQuiet {
            for destination in destinations { destination.answer(isWell: true) }
            endTurn()
            if turn % 5 == 4 { scheduler.advance(by: .milliseconds(500)) }
        }
        let missing = book.queues.map(\.missing)
        record.insist(isQuiet, "something does not end: \(missing), \(work)")
    }

    /// A description of the daemon's unfinished work.
    private var work: String {
        guard let life else { return "there is no daemon" }
        let erasing = life.executor.erased.map { ", erasing \($0.sorted())" } ?? ""
        let store = life.executor.isIdle ? "" : ", the store works"
        return "\(life.service.gate.stored) stored\(store)\(erasing), \(client.waiting)"
    }

    private var isQuiet: Bool {
        guard let life else { return false }
        return life.client.isContent && life.executor.isIdle && life.executor.erased == nil
            && !destinations.contains(where: \.hasWaiting)
            && book.queues.allSatisfy { $0.due.isEmpty } && life.service.gate.stored == .zero
    }
}
