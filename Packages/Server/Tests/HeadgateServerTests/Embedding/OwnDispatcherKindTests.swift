import HeadgateCore
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests dispatcher kinds that an embedding program adds.
@Suite struct OwnDispatcherKindTests {
    private static let ledger: DataObject = [
        "dispatchers": ["book": ["kind": "ledger", "dispatch_limit": 2, "configuration": ["book": 7]]]
    ]

    @Test(
        "K5: a dispatcher of a program's kind gets its configuration and batches, and is listed like built-in ones")
    func own() async throws {
        let written = Written()
        let adding: ServiceStage.Adding = {
            $0.addDispatcherKind(LedgerKind(written: written))
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

    @Test("K5, S2: if a sender cannot be created, the settings stay as they were, and the error has the cause")
    func refused() async throws {
        let adding: ServiceStage.Adding = { $0.addDispatcherKind(LedgerKind()) }
        try await ServiceStage.run(Self.ledger, adding: adding) { stage in
            let client = try await stage.client()
            let patch: DataObject = ["dispatchers": ["book": ["configuration": ["book": -1]]]]
            let refusal = try await client.refusal("config.set", ["patch": .object(patch)])
            #expect(refusal.reason == "invalid_settings")
            #expect(try await client.call("config.get")["dispatchers"]["book"]["configuration"]["book"] == 7)
        }
    }

    @Test("K5, S2, X4: settings of a program's kind are checked and blanked like those of built-in kinds")
    func reading() async throws {
        let adding: ServiceStage.Adding = { $0.addDispatcherKind(LedgerKind()) }
        try await ServiceStage.run(Self.ledger, adding: adding) { stage in
            let client = try await stage.client()
            let wrong: DataObject = ["dispatchers": ["book": ["configuration": ["book": "seven"]]]]
            let refusal = try await client.refusal("config.set", ["patch": .object(wrong)])
            #expect(refusal.message.contains("dispatchers.book.configuration.book"))
            let reported: DataObject = [
                "lenient": true,
                "dispatchers": [
                    "book": ["configuration": ["pass": "open sesame", "cover": "/nowhere", "colour": "red"]]
                ],
            ]
            try await client.call("config.set", ["patch": .object(reported)])
            let shown = try await client.call("config.get")["dispatchers"]["book"]["configuration"]
            #expect(shown["pass"] == "***")
            #expect(shown["colour"] == "red")
            let layer = try await client.call("config.get", ["layer": "programmatic"])
            #expect(layer["dispatchers"]["book"]["configuration"]["pass"] == "***")
            let warnings = try await client.call("status")["warnings"].elements.compactMap(String.init(dataItem:))
            #expect(
                warnings.contains(
                    "dispatchers.book.configuration.colour: unknown key; the closest known key is `cover`"))
        }
    }

    @Test("S2: a kind that the program has not added is unknown")
    func unknown() throws {
        let reading = Settings.read(Self.ledger)
        #expect(reading.settings == nil)
        #expect(reading.faults.map(\.path) == ["dispatchers.book.kind"])
    }

    @Test("B20: a program's kind decides whether it reaches a network", arguments: [true, false])
    func network(reachesNetwork: Bool) async throws {
        let adding: ServiceStage.Adding = {
            $0.addDispatcherKind(LedgerKind(isRemote: reachesNetwork))
        }
        try await ServiceStage.run(Self.ledger, adding: adding) { stage in
            let barriers = try await stage.client().call("barrier.list")["barriers"].elements
            let connectivity = barriers.first { $0["id"] == "ConnectivityBarrier" }
            let isHeld = (connectivity?["states"]["book"] ?? .null) != .null
            #expect(isHeld == reachesNetwork)
        }
    }
}

private struct LedgerKind: DispatcherKind {
    struct Settings: Sendable, Equatable {
        var book: Int?
        var pass: String?
    }

    let name = "ledger"
    var isRemote = false
    var written = Written()

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings {
        var settings = Settings()
        entry.section("configuration") { configuration in
            settings.book = configuration.integer("book", in: -1...1000)
            settings.pass = configuration.secret("pass")
            _ = configuration.readFile("cover")
        }
        return settings
    }

    func reachesNetwork(_ settings: Settings) -> Bool { isRemote }

    func makeSender(
        of dispatcher: String, _ settings: Settings, in context: SenderContext
    ) throws -> any Sender {
        guard let book = settings.book, book > 0 else { throw Missing(what: "a book") }
        return LedgerSender(book: book, written: written, scheduler: context.scheduler)
    }
}

/// A record of all batches: the book of each ledger and the batch's number of events.
private final class Written: Sendable {
    private let lines = Guarded<[String]>([])

    var entries: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

/// A sender that records every batch and reports it as delivered later in the same turn of the loop.
private final class LedgerSender: Sender {
    let format = BatchFormat.ndjson
    private let book: Int
    private let written: Written
    private let scheduler: any Scheduler

    init(book: Int, written: Written, scheduler: any Scheduler) {
        self.book = book
        self.written = written
        self.scheduler = scheduler
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        written.add("\(book): \(batch.events.count)")
        scheduler.soon { then(.delivered) }
    }

    func interrupt() {}

    func close() {}
}
