import HeadgateCore
import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests transformer kinds that an embedding program adds and settings name.
@Suite("Transformers of an embedding program", .timeLimit(.minutes(5)))
struct OwnTransformerTests {
    private static let adding: ServiceStage.Adding = { $0.addTransformerKind(StampFactory()) }

    private static func stamp(_ id: String, _ scope: String, _ text: String) -> DataObject {
        ["id": .string(id), "kind": "stamp", "scopes": .string(scope), "configuration": ["text": .string(text)]]
    }

    private func stamps(_ stage: ServiceStage, _ client: LineClient, of dispatcher: String) async throws -> [DataItem] {
        try await stage.events(of: dispatcher, after: client).map { $0["data"]["stamps"] }
    }

    @Test("S6: a transformation of a program's kind applies with its scopes, order, condition and configuration")
    func entry() async throws {
        var late = Self.stamp("late", "afterCollectors", "late")
        late["order"] = 9
        var picky = Self.stamp("picky", "afterCollectors", "picky")
        picky["when"] = ["operator": "equals", "path": "event", "value": "sale"]
        let early = Self.stamp("early", "afterCollectors", "early")
        let ours = Self.stamp("ours", "dispatcher:collect", "ours")
        let list: DataItem = .array([late, picky, early, ours].map { .object($0) })
        try await ServiceStage.run(["transformations": list], adding: Self.adding) { stage in
            let client = try await stage.client()
            try await client.call("track_many", ["events": [["event": "sale"], ["event": "visit"]]])
            let (archive, collect) = (
                try await stamps(stage, client, of: "archive"), try await stamps(stage, client, of: "collect")
            )
            #expect(archive == ["picky early late", "early late"])
            #expect(collect == ["picky early late ours", "early late ours"])
            #expect(try await client.call("status")["warnings"] == [])
        }
    }

    @Test("S3, S6: a change of transformations creates only transformers whose configuration changed")
    func changed() async throws {
        let made = MadeStamps()
        let adding: ServiceStage.Adding = { $0.addTransformerKind(StampFactory(made: made)) }
        try await ServiceStage.run(adding: adding) { stage in
            let client = try await stage.client()
            let one = Self.stamp("one", "afterCollectors", "1")
            var later = one
            later["order"] = 7
            for list in [
                [one], [later, Self.stamp("two", "afterCollectors", "2")], [Self.stamp("one", "afterCollectors", "3")],
                [],
            ] {
                let patch: DataObject = ["transformations": .array(list.map { .object($0) })]
                try await client.call("config.set", ["patch": .object(patch)])
                try await client.call("track", ["event": "x"])
            }
            #expect(try await stamps(stage, client, of: "collect") == ["1", "2 1", "3", .null])
            #expect(made.texts == ["1", "2", "3"])
        }
    }

    @Test("S2, S6: if a transformer cannot be created, no setting changes, and the fault names the transformation")
    func refused() async throws {
        try await ServiceStage.run(adding: Self.adding) { stage in
            let client = try await stage.client()
            let patch: DataObject = [
                "store": ["max_events": 1], "transformations": [.object(Self.stamp("bad", "afterCollectors", ""))],
            ]
            let refusal = try await client.message(to: client.request("config.set", ["patch": .object(patch)]))["error"]
            #expect(refusal["data"]["faults"].elements.first?["path"] == "transformations.bad")
            #expect(try await client.call("config.get")["store"]["max_events"] != 1)
        }
        let settings: DataObject = ["transformations": [.object(Self.stamp("bad", "afterCollectors", ""))]]
        await #expect(throws: StartFault.self) { try await ServiceStage.run(settings, adding: Self.adding) { _ in } }
    }

    @Test("S2: a kind that the program has not added is a fault; edits beside a kind are unknown keys")
    func unknown() {
        let settings: DataObject = [
            "dispatchers": ["collect": ["kind": "file", "path": "f"]],
            "transformations": [
                ["id": "t", "kind": "stamp", "scopes": [], "remove": ["data.x"], "configuration": [:]]
            ],
        ]
        let alone = Settings.read(settings)
        #expect(alone.faults.map(\.path) == ["transformations[0].kind"] && alone.warnings == [])
        var vocabulary = SettingsVocabulary()
        vocabulary.transformerKinds = ["mask"]
        #expect(
            Settings.read(settings, vocabulary: vocabulary).faults.map(\.description)
                == ["transformations[0].kind: must be one of: mask"])
        vocabulary.transformerKinds = ["stamp"]
        let known = Settings.read(settings, vocabulary: vocabulary)
        #expect(known.faults.map(\.path) == ["transformations[0].remove"] && known.warnings == [])
    }
}

/// Makes transformers that append a text to the event's stamps.
private struct StampFactory: TransformerFactory {
    let kind = "stamp"
    var made = MadeStamps()

    func makeTransformer(
        transformation id: String, configuration: DataObject, on scheduler: any Scheduler
    ) throws -> any Transformer {
        guard let text: String = configuration.get(key: "text"), !text.isEmpty else { throw Missing(what: "a text") }
        made.add(text)
        return Stamp(text: text)
    }
}

private struct Stamp: Transformer {
    let text: String

    func transform(_ event: EventDocument, dispatcher: String?) -> EventDocument? {
        var event = event
        let before: String? = event.data.get(key: "stamps")
        event.data["stamps"] = .string([before, text].compactMap(\.self).joined(separator: " "))
        return event
    }
}

/// The texts of all created transformers, in order.
private final class MadeStamps: Sendable {
    private let made = Guarded<[String]>([])

    var texts: [String] { made.withLock { $0 } }

    func add(_ text: String) {
        made.withLock { $0.append(text) }
    }
}
