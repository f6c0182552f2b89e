import Foundation
import HeadgateCore
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests that a change of settings is applied completely or not at all.
@Suite("Atomic changes of settings", .timeLimit(.minutes(5)))
struct WholeChangeTests {
    /// Rules `r0` to `r13`, each twice as large as the previous one. The last one exceeds the limit of a rule's size.
    private static let doubling: DataItem = {
        var rules: DataObject = ["r0": ["operator": "is_defined", "path": "data.x"]]
        for number in 1...13 {
            let half = DataItem.string("r\(number - 1)")
            rules["r\(number)"] = ["and": [half, half]]
        }
        return .object(rules)
    }()
    /// A rule that exceeds the limit only if the rules that it names are counted.
    private static let both: DataItem = ["and": ["r12", "r12"]]

    @Test("S2: a rule that is too large together with its referenced rules is a fault", arguments: [true, false])
    func tooLarge(isOfDispatcher: Bool) throws {
        var settings: DataObject = ["load_rules": Self.doubling, "dispatchers": ["d": ["kind": "file", "path": "f"]]]
        guard case .object(var rules) = Self.doubling else { return }
        rules["r13"] = nil
        settings["load_rules"] = .object(rules)
        #expect(Settings.read(settings).faults == [])
        let patch: DataObject =
            isOfDispatcher
            ? ["dispatchers": ["d": ["load_rule": Self.both]]]
            : ["transformations": [["id": "t", "scopes": [], "when": Self.both, "remove": ["data.x"]]]]
        let path = isOfDispatcher ? "dispatchers.d.load_rule" : "transformations[0].when"
        #expect(Settings.read(settings.patched(with: patch)).faults.map(\.path) == [path])
    }

    @Test("S2: a config.set with a fault in a transformation's rule changes no limit, dispatcher or rule")
    func transformation() async throws {
        guard case .object(var rules) = Self.doubling else { return }
        rules["r13"] = nil
        let patch: DataObject = [
            "store": ["max_events": 1], "load_rules": .object(rules),
            "dispatchers": ["third": ["kind": "file", "path": "third.ndjson"], "archive": .null],
            "transformations": [["id": "t", "scopes": "afterCollectors", "when": Self.both, "remove": ["data.x"]]],
        ]
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            let before = try await client.call("config.get")
            #expect(try await client.refusal("config.set", ["patch": .object(patch)]).reason == "invalid_settings")
            #expect(try await client.call("config.get") == before)
            try await client.call("track_many", ["events": [["event": "a"], ["event": "b"]]])
            let listed = try await client.call("dispatcher.list")["dispatchers"].elements
            #expect(listed.map { $0["id"] } == ["archive", "collect"])
        }
    }

    @Test("S2: if one sender cannot be created, the senders created before it are closed, and no setting changes")
    func senders() async throws {
        let tally = SenderTally()
        let patch: DataObject = [
            "store": ["max_events": 1],
            "dispatchers": [
                "good": ["kind": "counted"], "wrong": ["kind": "counted", "configuration": ["bad": true]],
            ],
        ]
        let adding: ServiceStage.Adding = { $0.addDispatcherKind(CountedKind(tally: tally)) }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            let before = try await client.call("config.get")
            #expect(try await client.refusal("config.set", ["patch": .object(patch)]).reason == "invalid_settings")
            #expect(try await client.call("config.get") == before)
            #expect(tally.value == ["made", "closed"])
            try await client.call("track_many", ["events": [["event": "a"], ["event": "b"]]])
            // The next change succeeds: the refused change is not part of the settings that it starts from.
            try await client.call("config.set", ["patch": ["store": ["max_events": 5]]])
        }
        #expect(tally.value == ["made", "closed"])
    }

    @Test(
        "S2, B7: a start applies all remote settings, even if one barrier refuses its configuration"
    )
    func comingBack() async throws {
        let url = "http://127.0.0.1:1/settings"
        let copy = #"""
            {"url": "\#(url)", "settings": {"store": {"max_events": 1},
             "barriers": {"FussyBarrier": {"configuration": {"bad": true}}}}}
            """#
        let adding: ServiceStage.Adding = { configuration in
            configuration.addBarrier(FussyBarrier.Factory())
            let directory = configuration.options.dataDirectory ?? ""
            try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try? copy.write(toFile: "\(directory)/remote-settings.json", atomically: true, encoding: .utf8)
        }
        try await ServiceStage.run(["remote": ["url": .string(url)]], adding: adding) { stage in
            let client = try await stage.client()
            #expect(try await client.call("config.get")["store"]["max_events"] == 1)
            #expect(try await client.call("config.get", ["layer": "remote"])["store"]["max_events"] == 1)
            #expect(try await client.listedBarrier("FussyBarrier")["states"]["collect"] == "open")
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "a"])
            #expect(try await client.refusal("track", ["event": "b"]).reason == "queue_full")
        }
    }
}

/// A barrier that throws for a configuration with the key `bad`.
private final class FussyBarrier: ConfigurableBarrier {
    static let id = "FussyBarrier"

    @StateSubject(.open) private var state: ObservableState<BarrierState>

    struct Factory: BarrierFactory {
        func create(context: BarrierContext, configuration: DataObject) -> FussyBarrier {
            FussyBarrier()
        }
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) throws {
        if configuration["bad"] != nil { throw Missing(what: "a valid configuration") }
    }
}

private struct CountedKind: DispatcherKind {
    let name = "counted"
    let tally: SenderTally

    /// Returns the setting `bad`. Creating a sender fails if it is true.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Bool {
        var isBad = false
        entry.section("configuration") { $0.bool("bad", into: &isBad) }
        return isBad
    }

    func reachesNetwork(_ isBad: Bool) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ isBad: Bool, in context: SenderContext
    ) throws -> any Sender {
        if isBad { throw Missing(what: "a destination") }
        return CountedSender(tally: tally, scheduler: context.scheduler)
    }
}

/// A record of created and closed senders, in order.
private final class SenderTally: Sendable {
    private let words = Guarded<[String]>([])

    var value: [String] { words.withLock { $0 } }

    func add(_ word: String) {
        words.withLock { $0.append(word) }
    }
}

private final class CountedSender: Sender {
    let format = BatchFormat.ndjson
    private let tally: SenderTally
    private let scheduler: any Scheduler

    init(tally: SenderTally, scheduler: any Scheduler) {
        self.tally = tally
        self.scheduler = scheduler
        tally.add("made")
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        scheduler.soon { then(.delivered) }
    }

    func interrupt() {}

    func close() {
        tally.add("closed")
    }
}
