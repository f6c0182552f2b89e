import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Complete configurations")
struct SettingsExampleTests {
    @Test("The example configuration of the protocol document is read")
    func protocolExample() throws {
        let reading = try SettingsReading.of(
            #"""
            {
              // where to
              "dispatchers": {
                "collect": {"kind": "http", "endpoint": "http://127.0.0.1:8080/events", "dispatch_limit": 100, "load_rule": "not_debug"},
                "archive": {"kind": "file", "path": "events.ndjson"} /* a copy */
              },
              "barriers": {
                "BatchingBarrier": {"barrier_id": "BatchingBarrier", "scopes": ["collect"], "configuration": {"batch_size": 10, "max_wait_ms": 5000}}
              },
              "load_rules": {"not_debug": {"not": {"operator": "equals", "path": "event", "value": "debug"}}},
              "transformations": [{"id": "drop_email", "scopes": ["dispatcher:collect"], "remove": ["data.email"]}]
            }
            """#)
        #expect(reading.findings == SettingsFindings())
        var expected = Settings()
        var collect = DispatcherSettings(id: "collect")
        collect.dispatchLimit = 100
        collect.loadRule = .reference("not_debug")
        expected.loadRules = [
            "not_debug": .not(.just(.equals(ignoreCase: false, variable: "event", target: "debug")))
        ]
        expected.transformations = [
            ConfiguredTransformation(
                settings: TransformationSettings(
                    id: "drop_email", transformerId: "drop_email", scopes: [.dispatcher(id: "collect")], order: 0),
                work: .edits([.remove("data.email")]))
        ]
        expected.dispatchers = [
            ConfiguredDispatcher(
                common: collect,
                kind: KindSettings(
                    HTTPKind(), HTTPDispatcherSettings(http: HTTPSettings(endpoint: "http://127.0.0.1:8080/events")))),
            ConfiguredDispatcher(
                common: DispatcherSettings(id: "archive"),
                kind: KindSettings(FileKind(), FileSettings(path: "events.ndjson"))),
        ]
        expected.barriers = [
            BarrierSettings(
                id: "BatchingBarrier", kind: "BatchingBarrier", scopes: [.dispatcher(id: "collect")],
                configuration: ["batch_size": 10, "max_wait_ms": 5000])
        ]
        #expect(reading.settings == expected)
    }

    @Test("The default configuration has no fault")
    func defaultConfiguration() throws {
        let reading = Settings.read(DefaultConfiguration.object)
        #expect(reading.findings == SettingsFindings())
        #expect(reading.settings?.dispatcherIDs == ["collect"])
    }
}
