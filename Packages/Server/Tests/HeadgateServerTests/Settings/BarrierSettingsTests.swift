import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Barriers in settings")
struct BarrierSettingsTests {
    /// Reads a `barriers` section in settings with two dispatchers.
    private func reading(_ barriers: String, kinds: BarrierKinds = .builtIn) throws -> SettingsReading {
        let dispatchers = #"{"a": {"kind": "file", "path": "a"}, "b": {"kind": "file", "path": "b"}}"#
        let text = #"{"dispatchers": \#(dispatchers), "barriers": \#(barriers)}"#
        var vocabulary = SettingsVocabulary.builtIn
        vocabulary.barrierKinds = kinds
        return Settings.read(try SettingsText.parse(Array(text.utf8)), vocabulary: vocabulary)
    }

    @Test("S4: the barriers object of the specification is accepted unchanged")
    func sourceDocument() throws {
        let barriers = #"""
            {
              "ConnectivityBarrier": {
                "barrier_id": "ConnectivityBarrier", "scopes": ["all"], "configuration": {"wifi_only": true}
              },
              "BatchingBarrier": {
                "barrier_id": "BatchingBarrier",
                "scopes": ["analytics_dispatcher", "collect_dispatcher"],
                "configuration": {"batch_size": 10}
              }
            }
            """#
        let read = try reading(barriers)
        #expect(
            read.settings?.barriers == [
                BarrierSettings(
                    id: "ConnectivityBarrier", kind: "ConnectivityBarrier", scopes: [.all],
                    configuration: ["wifi_only": true]),
                BarrierSettings(
                    id: "BatchingBarrier", kind: "BatchingBarrier",
                    scopes: [.dispatcher(id: "analytics_dispatcher"), .dispatcher(id: "collect_dispatcher")],
                    configuration: ["batch_size": 10]),
            ])
    }

    @Test(
        "B4: scopes may be one word, a list of words, or absent",
        arguments: [
            (#"{}"#, nil),
            (#"{"scopes": null}"#, nil),
            (#"{"scopes": []}"#, []),
            (#"{"scopes": "a"}"#, [.dispatcher(id: "a")]),
            (#"{"scopes": "all"}"#, [.all]),
            (#"{"scopes": ["b", "all", "b"]}"#, [.dispatcher(id: "b"), .all]),
        ] as [(String, [BarrierScope]?)])
    func scopes(entry: String, expected: [BarrierScope]?) throws {
        let read = try reading(#"{"BatchingBarrier": \#(entry)}"#)
        let settings = try #require(read.settings)
        #expect(settings.barriers.map(\.scopes) == [expected])
        // The default scope is `collect`, which is missing here. An empty list of scopes may be intended.
        #expect(read.warnings.count == (expected == nil ? 1 : 0))
    }

    @Test(
        "B4, S2: a configured barrier without scopes, whose default scopes match no dispatcher, causes a warning",
        arguments: [
            (#"{"BatchingBarrier": {}}"#, true), (#"{"ConnectivityBarrier": {}}"#, true),
            (#"{"RateBarrier": {"configuration": {"per_second": 1}}}"#, false),
            (#"{"BatchingBarrier": {"scopes": []}}"#, false), (#"{"ConnectivityBarrier": {"scopes": []}}"#, false),
            (#"{"BatchingBarrier": {"scopes": "all"}}"#, false), (#"{"b": {"kind": "BatchingBarrier"}}"#, true),
        ])
    func standsBeforeNothing(barriers: String, isWarning: Bool) throws {
        let read = try reading(barriers)
        let name = barriers.split(separator: "\"")[1]
        let expected =
            "barriers.\(name).scopes: are missing, and no dispatcher has an id of the default scopes: name its dispatchers"
        #expect(read.faults.isEmpty && read.warnings.map(\.description) == (isWarning ? [expected] : []))
    }

    @Test("B4, B5: default scopes that match a dispatcher cause no warning")
    func standsBeforeSome() throws {
        for dispatchers in [
            #"{"collect": {"kind": "http", "endpoint": "https://collector.example"}}"#,
            #"{"collect": {"kind": "nats", "servers": ["nats://n.example"], "subject": "s"}}"#,
        ] {
            let text =
                #"{"dispatchers": \#(dispatchers), "barriers": {"BatchingBarrier": {}, "ConnectivityBarrier": {}}}"#
            let read = Settings.read(try SettingsText.parse(Array(text.utf8)))
            #expect(read.faults.isEmpty && read.warnings.isEmpty, "\(read.findings.lines)")
        }
        let unknown = Settings.read(
            try SettingsText.parse(
                Array(
                    #"{"dispatchers": {}, "barriers": {"RateBarrier": {"scopes": "all", "configuration": {"per_second": 1}}}}"#
                        .utf8)))
        #expect(unknown.warnings.map(\.path) == ["dispatchers", "barriers.RateBarrier.scopes"])
    }

    @Test("B4: a scope that names an unknown dispatcher is kept, with a warning")
    func unknownDispatcher() throws {
        let read = try reading(#"{"BatchingBarrier": {"scopes": ["a", "c"]}}"#)
        #expect(read.settings?.barriers.first?.scopes == [.dispatcher(id: "a"), .dispatcher(id: "c")])
        #expect(
            read.findings.lines == ["barriers.BatchingBarrier.scopes: warning: there is no dispatcher `c`"])
    }

    @Test(
        "The kind of a barrier is its `kind`, or else its `barrier_id`, or else its name",
        arguments: [
            (#"{"night": {"barrier_id": "night", "kind": "BatchingBarrier"}}"#, "night"),
            (#"{"second": {"barrier_id": "BatchingBarrier"}}"#, "second"),
            (#"{"BatchingBarrier": {}}"#, "BatchingBarrier"),
        ])
    func kind(barriers: String, id: String) throws {
        let settings = try #require(try reading(barriers).settings)
        #expect(settings.barriers == [BarrierSettings(id: id, kind: "BatchingBarrier")])
    }

    @Test(
        "S2: faults of barriers are reported with their paths",
        arguments: [
            (#"[]"#, ["barriers: must be an object"]),
            (#"{"BatchingBarrier": []}"#, ["barriers.BatchingBarrier: must be an object"]),
            (
                #"{"x": {}}"#,
                [
                    "barriers.x.kind: must be one of: ApplicationStatusBarrier, BatchingBarrier, ConnectivityBarrier, "
                        + "IntervalBarrier, RateBarrier, ScheduleBarrier"
                ]
            ),
            (#"{"x": {"kind": "ManualBarrier"}}"#, ["barriers.x.kind: this barrier is built in"]),
            (#"{"BackoffBarrier": {}}"#, ["barriers.BackoffBarrier.kind: this barrier is built in"]),
            (#"{"WorkerBarrier": {}}"#, ["barriers.WorkerBarrier.kind: this barrier is built in"]),
            (
                #"{"WorkerBarrier:w": {"kind": "IntervalBarrier", "scopes": []}}"#,
                ["barriers.WorkerBarrier:w: is the name of a built-in barrier"]
            ),
            (
                #"{"DeadLettersBarrier:w": {"kind": "IntervalBarrier", "scopes": []}}"#,
                ["barriers.DeadLettersBarrier:w: is the name of a built-in barrier"]
            ),
            (
                #"{"ManualBarrier:a": {"kind": "BatchingBarrier"}}"#,
                ["barriers.ManualBarrier:a: is the name of a built-in barrier"]
            ),
            (
                #"{"": {"kind": "BatchingBarrier"}}"#,
                ["barriers.: must have 1 to 128 bytes and no control characters"]
            ),
            (
                #"{"BatchingBarrier": {"scopes": 1}}"#,
                ["barriers.BatchingBarrier.scopes: must be `all`, the id of a dispatcher, or a list of those"]
            ),
            (
                #"{"BatchingBarrier": {"scopes": ["a", 1, ""]}}"#,
                [1, 2].map { "barriers.BatchingBarrier.scopes[\($0)]: must be `all` or the id of a dispatcher" }
            ),
            (
                #"{"BatchingBarrier": {"configuration": 1}}"#,
                ["barriers.BatchingBarrier.configuration: must be an object"]
            ),
        ])
    func faults(barriers: String, lines: [String]) throws {
        let read = try reading(barriers)
        #expect(read.faults.map(\.description) == lines)
        #expect(read.settings == nil)
    }

    @Test("B22: batch_size may be any whole number, and max_wait_ms must be positive", arguments: [-5, 0, 1, 10_000])
    func batching(size: Int) throws {
        let read = try reading(#"{"BatchingBarrier": {"configuration": {"batch_size": \#(size), "max_wait_ms": 1}}}"#)
        let configuration = try #require(read.settings?.barriers.first?.configuration)
        #expect(try BatchingSettings(configuration).batchSize == max(size, 1), "the barrier accepts the value, too")
        let faults = try reading(
            #"{"BatchingBarrier": {"configuration": {"batch_size": 1.5, "max_wait_ms": 0}}}"#
        ).faults
        #expect(
            faults.map(\.path) == ["batch_size", "max_wait_ms"].map { "barriers.BatchingBarrier.configuration.\($0)" })
    }

    @Test(
        "B20–B27, S2: faults in the configuration of built-in barriers are reported with their paths",
        arguments: [
            (
                #"{"ConnectivityBarrier": {"configuration": {"wifi_only": 1}}}"#,
                ["ConnectivityBarrier.configuration.wifi_only: must be true or false"]
            ),
            (
                #"""
                {"s": {"kind": "ScheduleBarrier", "configuration":
                    {"start_hour": 24, "days": ["Monday"], "time_zone": "Mars/Olympus"}}}
                """#,
                [
                    "s.configuration.start_hour: must be a whole number from 0 to 23",
                    "s.configuration.days: must be a list of at least one of: mon, tue, wed, thu, fri, sat, sun",
                    "s.configuration.time_zone: is not a time zone of this machine",
                ]
            ),
            (
                #"{"IntervalBarrier": {"configuration": {"open_ms": 5}}}"#,
                ["IntervalBarrier.configuration.interval_ms: is required with open_ms"]
            ),
            (
                #"{"RateBarrier": {"configuration": {"burst": 5}}}"#,
                ["RateBarrier.configuration.per_second: is required with burst"]
            ),
            (
                #"{"ApplicationStatusBarrier": {"configuration": {"block_in_background": "yes"}}}"#,
                ["ApplicationStatusBarrier.configuration.block_in_background: must be true or false"]
            ),
            (
                #"{"RateBarrier": {"on_error": "ajar", "configuration": {"per_second": 5}}}"#,
                ["RateBarrier.on_error: must be one of: open, closed"]
            ),
        ])
    func builtInFaults(barriers: String, lines: [String]) throws {
        #expect(try reading(barriers).faults.map(\.description) == lines.map { "barriers." + $0 })
    }

    @Test("S2: an unknown key in a barrier's configuration is a fault, and a null counts as absent")
    func unknownKeys() throws {
        let read = try reading(
            #"{"RateBarrier": {"on_error": "closed", "configuration": {"per_second": 5, "burst": null, "colour": 1}}}"#)
        #expect(read.faults.map(\.path) == ["barriers.RateBarrier.configuration.colour"])
        let known = try reading(
            #"{"RateBarrier": {"on_error": "closed", "configuration": {"per_second": 5, "burst": null}}}"#)
        #expect(known.settings?.barriers.first?.configuration == ["per_second": 5])
        #expect(known.settings?.barriers.first?.stateOnError == .closed)
    }

    @Test(
        "S2: required keys of a barrier may be absent only if its scopes are empty",
        arguments: [
            ("RateBarrier", "per_second"), ("IntervalBarrier", "interval_ms"),
        ])
    func required(kind: String, key: String) throws {
        for entry in ["{}", #"{"configuration": {}}"#] {
            let faults = try reading(#"{"\#(kind)": \#(entry)}"#).faults
            #expect(faults.map(\.description) == ["barriers.\(kind).configuration.\(key): is required"])
        }
        #expect(try reading(#"{"\#(kind)": {"scopes": []}}"#).faults == [])
    }

    @Test("S2: two names that are canonically equivalent in Unicode are a fault")
    func lookalikes() throws {
        let read = try reading(
            #"{"caf\u00e9": {"kind": "BatchingBarrier"}, "cafe\u0301": {"kind": "BatchingBarrier"}}"#)
        #expect(read.faults.count == 1 && read.faults[0].message.contains("equals another name"))
    }

    @Test("S2, S6: the configuration of a program's barrier kind is checked like that of built-in kinds")
    func otherKinds() throws {
        var kinds = BarrierKinds.builtIn
        kinds.add(SlowFactory())
        let read = try reading(#"{"SlowBarrier": {"configuration": {"hours": 0, "colour": 1}}}"#, kinds: kinds)
        #expect(
            read.findings.lines == [
                "barriers.SlowBarrier.configuration.hours: must be a whole number from 1 to 24",
                "barriers.SlowBarrier.configuration.colour: unknown key; the closest known key is `hours`",
            ])
    }
}

/// A barrier of an embedding program, with the key `hours`. It is always open.
private final class SlowBarrier: ConfigurableBarrier {
    static let id = "SlowBarrier"

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observables.just(.open)
    }

    func updateConfiguration(_ configuration: DataObject) {}
}

private struct SlowFactory: BarrierFactory {
    func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
        _ = configuration.integer("hours", in: 1...24)
    }

    func create(context: BarrierContext, configuration: DataObject) -> SlowBarrier {
        SlowBarrier()
    }
}
