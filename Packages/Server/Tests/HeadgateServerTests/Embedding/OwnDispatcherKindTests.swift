import HeadgateCore
import HeadgateData
import Synchronization
import Testing

@testable import HeadgateServer

/// Kinds of dispatchers that a program brings.
@Suite struct OwnDispatcherKindTests {
    private static let ledger: DataObject = [
        "dispatchers": ["book": ["kind": "ledger", "dispatch_limit": 2, "configuration": ["book": 7]]]
    ]

    @Test(
        "K5: a dispatcher of a program's own kind gets its configuration and its batches, and is listed as the others")
    func own() async throws {
        let written = Written()
        let adding: ServiceStage.Adding = {
            $0.addDispatcherKind(LedgerFactory(written: written))
        }
        try await ServiceStage.run(Self.ledger, adding: adding) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "book"])
            for _ in 1...5 { try await client.call("track", ["event": "sale"]) }
            try await client.call("dispatcher.resume", ["id": "book"])
            try await client.call("flush", ["dispatchers": ["book"], "wait": true])
            let listed = try await client.call("dispatcher.list")["dispatchers"].elements
            let book = listed.first { $0["id"] == "book" }
            #expect(book?["kind"] == "ledger")
            #expect(book?["sent"] == 5)
            #expect(written.entries == ["7: 2", "7: 2", "7: 1"])
        }
    }

    @Test("K5, S2: a sender that cannot be made leaves the settings as they were, and says why")
    func refused() async throws {
        let adding: ServiceStage.Adding = { $0.addDispatcherKind(LedgerFactory()) }
        try await ServiceStage.run(Self.ledger, adding: adding) { stage in
            let client = try await stage.client()
            let patch: DataObject = ["dispatchers": ["book": ["configuration": ["book": -1]]]]
            let refusal = try await client.refusal("config.set", ["patch": .object(patch)])
            #expect(refusal.reason == "invalid_settings")
            #expect(try await client.call("config.get")["dispatchers"]["book"]["configuration"]["book"] == 7)
        }
    }

    @Test("S2: without the program the kind is unknown")
    func unknown() throws {
        let reading = Settings.read(Self.ledger)
        #expect(reading.settings == nil)
        #expect(reading.faults.map(\.path) == ["dispatchers.book.kind"])
    }

    @Test("B20: whether it reaches a network is the program's to say", arguments: [true, false])
    func network(reachesNetwork: Bool) async throws {
        let adding: ServiceStage.Adding = {
            $0.addDispatcherKind(LedgerFactory(reachesNetwork: reachesNetwork))
        }
        try await ServiceStage.run(Self.ledger, adding: adding) { stage in
            let barriers = try await stage.client().call("barrier.list")["barriers"].elements
            let connectivity = barriers.first { $0["id"] == "ConnectivityBarrier" }
            let isHeld = (connectivity?["states"]["book"] ?? .null) != .null
            #expect(isHeld == reachesNetwork)
        }
    }
}

private struct LedgerFactory: SenderFactory {
    let kind = "ledger"
    var reachesNetwork = false
    var written = Written()

    func makeSender(dispatcher id: String, configuration: DataObject, on worker: any Worker) throws -> any Sender {
        guard let book: Int = configuration.get(key: "book"), book > 0 else { throw Missing(what: "a book") }
        return LedgerSender(book: book, written: written, worker: worker)
    }
}

/// What all ledgers have written: the book, and how many events.
private final class Written: Sendable {
    private let lines = Mutex<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

/// Takes everything, later in the turn.
private final class LedgerSender: Sender {
    let format = BatchFormat.ndjson
    private let book: Int
    private let written: Written
    private let worker: any Worker

    init(book: Int, written: Written, worker: any Worker) {
        self.book = book
        self.written = written
        self.worker = worker
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        written.add("\(book): \(batch.events.count)")
        worker.soon { then(.delivered) }
    }

    func interrupt() {}

    func close() {}
}
