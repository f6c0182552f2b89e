import Foundation
import HeadgateCore
import HeadgateSeeds
import Testing

@testable import HeadgateStore

/// Fills a log's disk again and again, kills the daemon, and settles events at random. As in `Settlements`, a
/// settlement that cannot be written is repeated with the next one.
@Suite("A log on a disk that is full")
struct LogRoomModelTests {
    @Test(
        "Q8: a full disk with any content accepts events again, once all settlements are written",
        arguments: Seeds.first(6))
    func anyHistory(seed: Seed) throws {
        let history = try History(seed)
        for _ in 0..<3 {
            try history.fill()
            try history.die()
            try history.settleAll()
            history.expectRoom()
        }
        try history.expectAll()
    }
}

private final class History {
    private var random: SeededRandom
    private let seed: Seed
    private let disk = FaultyDisk()
    private var options: StoreOptions
    private var engine: LogEngine!
    /// The number through which each dispatcher has settled all events.
    private var settled: [DispatcherNumber: SequenceNumber] = [1: 0, 2: 0]
    private var last: SequenceNumber = 0

    init(_ seed: Seed) throws {
        (self.seed, random) = (seed, SeededRandom(seed: seed))
        options = StoreOptions(
            directory: NSTemporaryDirectory() + "/headgate-room-" + UUID().uuidString,
            durability: random.oneIn(2) ? .full : .normal)
        let segment = (64 << 10) << Int.random(in: 0...1, using: &random)
        (options.segmentSize, options.blockSize, options.disk) = (segment, 4 << 10, disk)
        options.leastPacked = random.oneIn(2) ? 1_000 : .max
        options.mostUnfiledIDBytes = 1_000
        // In half of the runs, whole segments leave no room even for a small file.
        let rest = random.oneIn(2) ? 100 : Int.random(in: 0..<segment, using: &random)
        disk.room = Int.random(in: 4...8, using: &random) * segment + rest
        engine = try options.open().engine
        for number in settled.keys {
            #expect(carryOut(.write([.dispatcher(.at(0, number: number, id: "d\(number)"))])))
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: options.directory)
    }

    /// Carries out a job, and the background work that follows.
    /// - Returns: false if there was no room.
    private func carryOut(_ job: StoreJob) -> Bool {
        engine.resumeBackgroundWork()
        let result = engine.commit([job])
        for _ in 0..<200 where engine.hasBackgroundWork { engine.doBackgroundWork() }
        switch result {
        case .success: return true
        case .failure(let fault):
            guard case .noRoom = fault else {
                Issue.record("\(fault), \(seed)")
                return false
            }
            return false
        }
    }

    private func append(_ count: Int, size: Int) -> Bool {
        let next = last + SequenceNumber(count)
        let ids = RecentIDs(
            lastSequenceNumber: next, receivedStamp: 1, count: count, bytes: [UInt8](repeating: 7, count: 32 * count))
        let group = Groups.of(last + 1...next, size: size, newRoutes: last == 0 ? [1: [1, 2]] : [:], recentIDs: ids)
        guard carryOut(.append(group)) else { return false }
        (last, engine.lastAppended) = (next, next)
        return true
    }

    private func settle(_ number: DispatcherNumber, through position: SequenceNumber) -> Bool {
        settled[number] = position
        let trimmed = settled.values.min() ?? 0
        return carryOut(.write([.settled(number, Settled(through: position)), .trim(through: trimmed)]))
    }

    /// Appends events until there is no room. Dispatcher 1 settles some of them meanwhile.
    func fill() throws {
        while append(Int.random(in: 1...20, using: &random), size: Int.random(in: 0...1_500, using: &random)) {
            // The other dispatcher settles nothing, so that the disk fills.
            if random.oneIn(10) { _ = settle(1, through: Int64.random(in: (settled[1] ?? 0)...last, using: &random)) }
        }
        #expect(last > 0)
    }

    /// Simulates up to three kills of the daemon, each with the next start.
    func die() throws {
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            engine = nil
            engine = try options.open().engine
            #expect(engine.lastAppended >= last, "\(seed)")
            engine.lastAppended = last
        }
    }

    /// Settles all events in small steps. The log must be able to record the last step.
    func settleAll() throws {
        while let (number, position) = settled.filter({ $0.value < last }).randomElement(using: &random) {
            if random.oneIn(40) { try die() }
            _ = settle(number, through: min(last, position + Int64.random(in: 1...5, using: &random)))
        }
        for number in settled.keys {
            #expect(settle(number, through: last) || settle(number, through: last), "\(seed)")
        }
    }

    func expectRoom() {
        for _ in 0..<10 { #expect(append(3, size: 300), "\(seed)") }
    }

    /// Checks that all unsettled events are there, and that no other event is pending.
    func expectAll() throws {
        engine.finish()
        engine = nil
        let opened = try options.open()
        var (index, found): (SequenceNumber, [SequenceNumber]) = (settled.values.min() ?? 0, [])
        while case .success(let chunk?) = opened.engine.read(after: index) {
            found += chunk.map(\.sequenceNumber).filter { $0 > index }
            index = chunk.lastSequenceNumber
        }
        #expect(found == Array((last - 29)...last), "\(seed)")
        #expect(opened.state.unsettled.values.joined().allSatisfy { $0.tally.events == 30 }, "\(seed)")
    }
}
