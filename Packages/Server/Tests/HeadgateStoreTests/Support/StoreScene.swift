import Foundation
import HeadgateCore
import HeadgateTransport

@testable import HeadgateStore

/// A store in a temporary directory, and a scheduler that is the test itself.
final class StoreScene {
    let directory: String
    var options: DiskEventStore.Options
    private let posted = Guarded<[@Sendable () -> Void]>([])
    private(set) var store: DiskEventStore
    /// Events that were reported as put aside.
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

    /// The numbers of all events behind a place, read as a dispatcher would.
    func numbers(after sequenceNumber: SequenceNumber = 0) throws -> [SequenceNumber] {
        var position = sequenceNumber
        var numbers: [SequenceNumber] = []
        while let chunk = try read(after: position) {
            numbers += chunk.map(\.sequenceNumber).filter { $0 > position }
            position = chunk.lastSequenceNumber
        }
        return numbers
    }

    /// Asks for something and does the scheduler's work until the answer has come.
    func answer<Answer>(_ ask: (@escaping (Answer) -> Void) -> Void) -> Answer {
        var result: Answer?
        ask { result = $0 }
        while true {
            if let result { return result }
            work()
        }
    }

    /// Carries out the work that the store has scheduled, and waits for it.
    func work() {
        for work in posted.takeAll(waiting: true) { work() }
    }
}

extension StoreScene {
    /// Waits until the store has done what it leaves for idle moments, then closes and opens it: steps are taken after
    /// each turn, so a bounded number of turns is enough.
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
        // Files may still be open: the mount goes when they are closed.
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    private var filler: String { path + "/filler" }

    /// Takes most of the room.
    func fill() throws {
        try Data(repeating: 0, count: SmallDisk.size - 900_000).write(to: URL(fileURLWithPath: filler))
    }

    func makeRoom() throws {
        try FileManager.default.removeItem(atPath: filler)
    }
}
