// swift-format-ignore-file: OnlyOneTrailingClosureArgument

import Foundation
import HeadgateCore
import HeadgateCoreTesting
import HeadgateSQLiteStore
import HeadgateTransport
import Testing

@testable import HeadgateServer

@Suite("The kind of store that a data directory belongs to")
struct StoredKindTests {
    private let directory = TemporaryDirectory()

    private static let changes: [(StoreKind, StoreKind)] = [(.log, .sqlite), (.sqlite, .log)]

    private func store(_ kind: StoreKind) -> PumpedStore {
        PumpedStore { [path = directory.path] post in
            switch kind {
            case .log: DiskEventStore(options: DiskEventStore.Options(directory: path), post: post)
            case .sqlite: SQLiteEventStore(options: SQLiteEventStore.Options(path: path + "/events.db"), post: post)
            }
        }
    }

    /// Returns the bytes of each file in the directory, by name.
    private func content() throws -> [String: Data] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path).reduce(into: [:]) {
            $0[$1] = FileManager.default.contents(atPath: directory.path + "/" + $1)
        }
    }

    @Test(
        "Q1: a start with another kind is refused while there are events, with both kinds in the error, and changes nothing",
        arguments: changes)
    func refused(_ old: StoreKind, _ new: StoreKind) throws {
        try fill(old, settledThrough: 2)
        let before = try content()
        let fault = #expect(throws: StoreFault.self) { try StoredKind(directory: directory.path).makeRoom(for: new) }
        let message = fault?.message ?? ""
        for word in ["of kind \(old.rawValue)", "ask for \(new.rawValue)", "drain", "headgate export", "headgate send"]
        {
            #expect(message.contains(word), "\(message)")
        }
        let after = try content()
        // SQLite's own companion files and the lock come and go with the process that opens the store.
        let companions = ["events.db-wal", "events.db-shm", "headgate.lock"]
        let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        #expect(changed.subtracting(companions) == [])
        #expect(try StoredKind(directory: directory.path).makeRoom(for: old) == nil)
    }

    @Test("Q1: a drained store of another kind is renamed, and the start continues", arguments: changes)
    func drained(_ old: StoreKind, _ new: StoreKind) throws {
        try fill(old, settledThrough: 3)
        let kind = StoredKind(directory: directory.path)
        let note = try #require(try kind.makeRoom(for: new))
        #expect(note.contains("of kind \(old.rawValue) was renamed to"))
        #expect(!kind.isThere(old))
        #expect(try kind.makeRoom(for: new) == nil)
        let fresh = store(new)
        #expect(try fresh.store.open().lastSequenceNumber == 0)
        fresh.close()
    }

    @Test("Q8: verification reads both kinds, and reports a directory without a store", arguments: StoreKind.allCases)
    func verified(_ kind: StoreKind) throws {
        let verification = DirectoryVerification(directory: directory.path)
        #expect(throws: StoreFault.failed("there is no event store in \(directory.path)")) { try verification.run() }
        try fill(kind, settledThrough: 2)
        let before = try content()
        let report = try verification.run()
        let lines = report.lines(directory.path)
        #expect(report.isSound && lines.last == "no damage found")
        #expect(lines[0].hasPrefix("\(directory.path): an event store of kind \(kind.rawValue), "))
        #expect(lines[1] == "events: 3, last sequence number 3")
        #expect(lines[2].hasPrefix("  collect: 1 pending, "))
        let after = try content()
        // SQLite's own companion files and the lock come and go with the process that opens the store.
        let companions = ["events.db-wal", "events.db-shm", "headgate.lock"]
        let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        #expect(changed.subtracting(companions) == [])
    }

    /// Stores three events for one dispatcher, which has settled the events up to `settled`.
    private func fill(_ kind: StoreKind, settledThrough settled: SequenceNumber) throws {
        // SQLite's store needs its directory.
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        let pumped = store(kind)
        _ = try pumped.store.open()
        let dispatcher = StoredDispatcher(number: 1, id: "collect", settled: Settled(through: 0))
        #expect(pumped.answer { pumped.store.write([.dispatcher(dispatcher)], then: $0) } as StoreFault? == nil)
        let group = AppendGroup.sample(1...3, newRoutes: [1: [1]])
        #expect(pumped.answer { pumped.store.append(group, then: $0) } as StoreFault? == nil)
        let change = StoreChange.settled(1, Settled(through: settled))
        #expect(pumped.answer { pumped.store.write([change], then: $0) } as StoreFault? == nil)
        pumped.close()
    }
}

/// The path of a test's directory, which the test creates if it needs the directory.
private final class TemporaryDirectory {
    let path = NSTemporaryDirectory() + "headgate-kind-" + UUID().uuidString

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A store whose scheduled work is run by the test.
private final class PumpedStore {
    let store: any EventStore
    private let posted = Guarded<[@Sendable () -> Void]>([])

    init(_ make: (@escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> any EventStore) {
        store = make { [posted] work in posted.withLock { $0.append(work) } }
    }

    func answer<Answer>(_ ask: (@escaping (Answer) -> Void) -> Void) -> Answer {
        var result: Answer?
        ask { result = $0 }
        while true {
            if let result { return result }
            let all = posted.withLock(when: { !$0.isEmpty }) { posted in
                defer { posted = [] }
                return posted
            }
            for work in all { work() }
        }
    }

    func close() {
        answer { then in store.close { then(()) } } as Void
    }
}
