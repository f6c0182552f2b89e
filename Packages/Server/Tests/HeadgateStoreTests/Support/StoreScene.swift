import Foundation
import HeadgateCore
import HeadgateTransport

@testable import HeadgateStore

/// A store in a temporary directory. The test runs the work that the store posts to its scheduler.
final class StoreScene {
    let directory: String
    var options: DiskEventStore.Options
    private let posted = Guarded<[@Sendable () -> Void]>([])
    private(set) var store: DiskEventStore
    /// The number of events that the store reported as quarantined.
    private(set) var quarantined = 0
    private(set) var droppedDeadLetters: [DispatcherNumber: Int] = [:]

    init(durability: Durability = .full, in parent: String = NSTemporaryDirectory()) {
        directory = parent + "/headgate-store-" + UUID().uuidString
        options = DiskEventStore.Options(directory: directory, durability: durability)
        store = DiskEventStore(options: options) { _ in }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Opens the store, with the options as they are now.
    @discardableResult
    func open() throws -> StoredState {
        store = DiskEventStore(options: options) { [posted] work in posted.withLock { $0.append(work) } }
        store.onQuarantine = { [unowned self] in quarantined += $0 }
        store.onDeadLettersDropped = { [unowned self] in droppedDeadLetters.merge($0, uniquingKeysWith: +) }
        return try store.open()
    }

    func close() {
        answer { then in store.close { then(()) } } as Void
    }

    func reopen() throws -> StoredState {
        close()
        return try open()
    }

    @discardableResult
    func append(_ group: AppendGroup) -> StoreFault? {
        answer { store.append(group, then: $0) }
    }

    @discardableResult
    func write(_ changes: StoreChange...) -> StoreFault? {
        answer { store.write(changes, then: $0) }
    }

    func read(after sequenceNumber: SequenceNumber) throws -> Chunk? {
        try answer { store.read(after: sequenceNumber, then: $0) }.get()
    }

    /// Returns the numbers of all events after a position, read as a dispatcher would.
    func numbers(after sequenceNumber: SequenceNumber = 0) throws -> [SequenceNumber] {
        var position = sequenceNumber
        var numbers: [SequenceNumber] = []
        while let chunk = try read(after: position) {
            numbers += chunk.map(\.sequenceNumber).filter { $0 > position }
            position = chunk.lastSequenceNumber
        }
        return numbers
    }

    /// Starts an operation, and runs the scheduler's work until the answer has come.
    func answer<Answer>(_ ask: (@escaping (Answer) -> Void) -> Void) -> Answer {
        var result: Answer?
        ask { result = $0 }
        while true {
            if let result { return result }
            work()
        }
    }

    /// Waits for work that the store has posted to the scheduler, and runs it.
    func work() {
        for work in posted.takeAll(waiting: true) { work() }
    }
}

extension StoreScene {
    /// Waits for the store's background work, then closes and reopens the store. Each turn does a step of this work, so
    /// that a bounded number of turns is enough.
    func reopenWhenIdle(turns: Int = 40) throws -> StoredState {
        for _ in 0..<turns { write() }
        return try reopen()
    }
}

/// A file system of a few MiB in memory, mounted for one test. Needs the rights to mount.
final class SmallDisk {
    let path = NSTemporaryDirectory() + "/headgate-disk-" + UUID().uuidString

    /// True if this process may mount file systems.
    static let isPossible: Bool = (try? SmallDisk()) != nil

    private static let size = 2 << 20

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(SmallDisk.size)") == 0 else {
            let code = errno
            rmdir(path)
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EPERM)
        }
    }

    deinit {
        // Files may still be open. The system unmounts when they are closed.
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    private var filler: String { path + "/filler" }

    /// Fills all but 900 000 bytes of the file system.
    func fill() throws {
        try Data(repeating: 0, count: SmallDisk.size - 900_000).write(to: URL(fileURLWithPath: filler))
    }

    func makeRoom() throws {
        try FileManager.default.removeItem(atPath: filler)
    }
}
