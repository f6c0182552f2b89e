import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests load rules that an embedding program adds and settings name.
@Suite("Load rules of an embedding program", .timeLimit(.minutes(5)))
struct OwnRuleTests {
    private static let isSale = Rule.just(.equals(ignoreCase: false, variable: "event", target: "sale"))
    private static let adding: ServiceStage.Adding = { $0.setLoadRule(isSale, forId: "is_sale") }

    private func names(
        _ stage: ServiceStage, _ client: LineClient, of dispatcher: String = "collect"
    ) async throws -> [DataItem] {
        try await stage.events(of: dispatcher, after: client).map { $0["event"] }
    }

    @Test(
        "S6: settings can name a program's load rule wherever a rule is expected, also inside other rules",
        arguments: [
            ("is_sale", true), (["not": "is_sale"], false), (["and": ["is_sale"]], true),
            (["or": [["not": ["not": "is_sale"]]]], true), ("by_name", true),
        ] as [(DataItem, Bool)])
    func named(rule: DataItem, takesSales: Bool) async throws {
        let settings: DataObject = [
            "load_rules": ["by_name": "is_sale"], "dispatchers": ["collect": ["load_rule": rule]],
        ]
        try await ServiceStage.run(settings, adding: Self.adding) { stage in
            let client = try await stage.client()
            try await client.call("track_many", ["events": [["event": "sale"], ["event": "visit"]]])
            #expect(try await names(stage, client) == [takesSales ? "sale" : "visit"])
        }
    }

    @Test("S6: the `when` of a transformation can name a program's load rule")
    func when() async throws {
        let settings: DataObject = [
            "transformations": [["id": "t", "scopes": "afterCollectors", "when": "is_sale", "set": ["event": "SALE"]]]
        ]
        try await ServiceStage.run(settings, adding: Self.adding) { stage in
            let client = try await stage.client()
            try await client.call("track_many", ["events": [["event": "sale"], ["event": "visit"]]])
            #expect(try await names(stage, client) == ["SALE", "visit"])
        }
    }

    @Test("S6: a rule of the settings replaces a program's rule with the same id until it is removed")
    func replaced() async throws {
        let settings: DataObject = ["dispatchers": ["collect": ["load_rule": "is_sale"]]]
        try await ServiceStage.run(settings, adding: Self.adding) { stage in
            let client = try await stage.client()
            let isVisit: DataItem = ["operator": "equals", "path": "event", "value": "visit"]
            for rule in [.null, isVisit, .null] {
                try await client.call("config.set", ["patch": ["load_rules": ["is_sale": rule]]])
                try await client.call("track_many", ["events": [["event": "sale"], ["event": "visit"]]])
            }
            #expect(try await names(stage, client) == ["sale", "visit", "sale"])
        }
    }

    @Test("S6: a program's rule may name a rule of the settings; a cycle of both is a fault")
    func mixed() async throws {
        let settings: DataObject = [
            "load_rules": ["of_settings": ["operator": "equals", "path": "event", "value": "sale"]],
            "dispatchers": ["collect": ["load_rule": "of_program"]],
        ]
        let adding: ServiceStage.Adding = { $0.setLoadRule(.not(.reference("of_settings")), forId: "of_program") }
        try await ServiceStage.run(settings, adding: adding) { stage in
            let client = try await stage.client()
            let cycle: DataObject = ["load_rules": ["of_settings": "of_program"]]
            let refusal = try await client.message(to: client.request("config.set", ["patch": .object(cycle)]))[
                "error"]
            let faults = refusal["data"]["faults"].elements
            #expect(faults.map { $0["path"] } == ["load_rules.of_settings"])
            try await client.call("track_many", ["events": [["event": "sale"], ["event": "visit"]]])
            #expect(try await names(stage, client) == ["visit"])
        }
    }

    @Test("S2: a rule that the program has not added is unknown, wherever it is named")
    func unknown() {
        let settings: DataObject = [
            "load_rules": ["a": ["not": "is_sale"]],
            "dispatchers": ["collect": ["kind": "file", "path": "f", "load_rule": "is_sale"]],
            "transformations": [["id": "t", "scopes": [], "when": "is_sale", "remove": ["data.x"]]],
        ]
        let paths = ["load_rules.a.not", "dispatchers.collect.load_rule", "transformations[0].when"]
        #expect(Settings.read(settings).faults.map(\.path) == paths)
        var vocabulary = SettingsVocabulary()
        vocabulary.loadRules = ["is_sale": Self.isSale]
        #expect(Settings.read(settings, vocabulary: vocabulary).faults == [])
    }

    @Test("S5: a cycle of a program's rules makes the start fail")
    func cycle() async throws {
        let adding: ServiceStage.Adding = {
            $0.setLoadRule(.reference("b"), forId: "a")
            $0.setLoadRule(.reference("a"), forId: "b")
        }
        await #expect(throws: StartFault.self) { try await ServiceStage.run(adding: adding) { _ in } }
    }
}
