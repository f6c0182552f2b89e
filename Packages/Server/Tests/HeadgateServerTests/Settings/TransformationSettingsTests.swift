import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Settings of transformations")
struct TransformationSettingsTests {
    private func reading(_ list: String) throws -> SettingsReading {
        try .of(
            #"""
            {"dispatchers": {"d": {"kind": "file", "path": "f", "load_rule": "is_x"}}, "transformations": \#(list),
             "load_rules": {"is_x": {"operator": "equals", "path": "event", "value": "x"}}}
            """#)
    }

    @Test("P4: edits are applied in a fixed order, independent of the order of their keys")
    func reads() throws {
        let reading = try reading(
            #"""
            [{"id": "t", "scopes": ["afterCollectors", "dispatcher:d"], "when": "is_x", "order": -1.5,
              "remove": ["context.host", "key"], "hash": ["user.email", "event"],
              "set": {"data.source": null, "key": "k", "data.n": 1.50}, "rename": {"mail": "user.email", "a": "b"}},
             {"scopes": "allDispatchers", "set": {"data": {}}}]
            """#)
        #expect(reading.findings == SettingsFindings())
        let transformations = try #require(reading.settings?.transformations)
        #expect(
            transformations[0].settings
                == TransformationSettings(
                    id: "t", transformerId: "t", scopes: [.afterCollectors, .dispatcher(id: "d")], order: -1.5,
                    when: .reference("is_x")))
        #expect(
            transformations[0].work
                == .edits([
                    .rename([.init(from: "data.mail", to: "data.user.email"), .init(from: "data.a", to: "data.b")]),
                    .set("data.source", .null), .set("key", "k"),
                    .set("data.n", .number(DataNumber(unchecked: "1.50"))),
                    .hash("data.user.email"),
                    .hash("event"), .remove("context.host"), .remove("key"),
                ]))
        #expect(
            transformations[1].settings
                == TransformationSettings(id: "[1]", transformerId: "[1]", scopes: [.allDispatchers], order: 1))
        #expect(transformations[1].work == .edits([.set("data", [:])]))
    }

    @Test(
        "S2: a fault in a transformation is reported with its path",
        arguments: [
            (#"{}"#, ["transformations: must be a list"]),
            (#"["x"]"#, ["transformations[0]: must be an object"]),
            (#"[{"id": "", "remove": ["x"], "scopes": []}]"#, ["transformations[0].id: must not be empty"]),
            (#"[{"id": 5, "remove": ["x"], "scopes": []}]"#, ["transformations[0].id: must be a string"]),
            (#"[{"id": "t", "remove": ["x"]}]"#, ["transformations[0].scopes: is required"]),
            (
                #"[{"id": "t", "remove": ["x"], "scopes": ["all", 5, "dispatcher:"]}]"#,
                (0...2).map {
                    "transformations[0].scopes[\($0)]: must be afterCollectors, allDispatchers, or dispatcher:ID"
                }
            ),
            (
                #"[{"id": "t", "remove": ["x"], "scopes": []}, {"id": "t", "remove": ["x"], "scopes": []}]"#,
                ["transformations[1].id: is the id of an earlier transformation"]
            ),
            (
                #"[{"id": "t", "scopes": [], "order": "first", "when": "nobody", "remove": ["x"]}]"#,
                [
                    "transformations[0].order: must be a number",
                    "transformations[0].when: there is no load rule `nobody`",
                ]
            ),
            (
                #"[{"id": "t", "scopes": [], "remove": ["id", "event", "seq.x", "", 5], "hash": ["data", "attempt"]}]"#,
                [
                    "transformations[0].hash[0]: `data` must remain an object",
                    "transformations[0].hash[1]: `attempt` cannot be changed",
                    "transformations[0].remove[0]: `id` cannot be changed",
                    "transformations[0].remove[1]: `event` must not be removed",
                    "transformations[0].remove[2]: `seq` cannot be changed",
                    "transformations[0].remove[3]: must be a path, like data.user.id",
                    "transformations[0].remove[4]: must be a path, like data.user.id",
                ]
            ),
            (
                #"[{"id": "t", "scopes": [], "set": {"event": "", "key": 5, "data": "x", "context": null, "time": "x"}}]"#,
                [
                    "transformations[0].set.event: must be a string, and not empty",
                    "transformations[0].set.key: must be a string, and not empty",
                    "transformations[0].set.data: must be an object",
                    "transformations[0].set.context: must be an object",
                    "transformations[0].set.time: `time` cannot be changed",
                ]
            ),
            (
                #"[{"id": "t", "scopes": [], "rename": {"event": "x", "data": "y", "a": "id", "b": 5}}]"#,
                [
                    "transformations[0].rename.event: `event` must not be removed",
                    "transformations[0].rename.data: `data` must not be removed",
                    "transformations[0].rename.a: `id` cannot be changed",
                    "transformations[0].rename.b: must be a string",
                ]
            ),
        ])
    func faults(list: String, lines: [String]) throws {
        let reading = try reading(list)
        #expect(reading.findings.lines == lines)
        #expect(reading.settings == nil)
    }

    @Test("S2: an unknown dispatcher and a transformation without an effect cause warnings; an unknown key is a fault")
    func warnings() throws {
        let reading = try reading(#"[{"id": "t", "scopes": "dispatcher:later", "delete": ["x"]}]"#)
        #expect(
            reading.findings.lines == [
                "transformations[0].delete: unknown key; the closest known key is `remove`",
                "transformations[0].scopes: warning: there is no dispatcher `later`",
                "transformations[0].id: warning: changes nothing: there is no rename, set, hash or remove",
            ])
        #expect(reading.settings == nil)
    }
}
