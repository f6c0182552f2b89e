import Foundation
import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Dispatchers in settings")
struct DispatcherSettingsTests {
    @Test("D1, D4, D9: the common settings of all kinds are read")
    func common() throws {
        let settings = try SettingsReading.ofDispatcher(
            #"""
            "kind": "file", "path": "f", "dispatch_limit": 7, "byte_limit": 8, "in_flight": 9, "max_attempts": 10,
            "max_retry_age_s": 11, "backoff": {"base_ms": 12, "cap_ms": 13}, "retry_failed_requests": false,
            "annotate_queued": false
            """#
        ).settings
        var expected = DispatcherSettings(id: "d")
        expected.dispatchLimit = 7
        expected.byteLimit = 8
        expected.inFlight = 9
        expected.maxAttempts = 10
        expected.maxRetryAge = .seconds(11)
        expected.backoffBase = .milliseconds(12)
        expected.backoffCap = .milliseconds(13)
        expected.retryFailedRequests = false
        expected.annotateQueued = false
        #expect(settings?.dispatchers.map(\.common) == [expected])
    }

    @Test("K3, Q2: a dispatcher of kind worker has a lease, and by default the largest in_flight")
    func worker() throws {
        let defaults = try SettingsReading.ofDispatcher(#""kind": "worker""#).settings?.dispatchers.first
        #expect(defaults?.kind == KindSettings(WorkerKind(), WorkerSettings(lease: .seconds(30))))
        #expect(defaults?.common.inFlight == DispatcherSettings.mostInFlight)
        let reported = try SettingsReading.ofDispatcher(#""kind": "worker", "lease_ms": 5, "in_flight": 2"#)
        #expect(
            reported.settings?.dispatchers.first?.kind
                == KindSettings(WorkerKind(), WorkerSettings(lease: .milliseconds(5))))
        #expect(reported.settings?.dispatchers.first?.common.inFlight == 2)
        let faults = try SettingsReading.ofDispatcher(#""kind": "worker", "lease_ms": 0"#).faults
        #expect(faults.map(\.path) == ["dispatchers.d.lease_ms"])
    }

    @Test("D1, Q2, Q6: dispatch_limit × in_flight is bounded; the default in_flight of kind worker fits the bound")
    func bound() throws {
        for (settings, isFault) in [
            (#""kind": "file", "path": "f", "dispatch_limit": 1000, "in_flight": 1000"#, false),
            (#""kind": "file", "path": "f", "dispatch_limit": 1000, "in_flight": 1001"#, true),
            (#""kind": "worker", "dispatch_limit": 1000000, "in_flight": 1"#, false),
            (#""kind": "worker", "dispatch_limit": 500001, "in_flight": 2"#, true),
        ] {
            let faults = try SettingsReading.ofDispatcher(settings).faults.map(\.description)
            let fault = "dispatchers.d.in_flight: times dispatch_limit must be no more than 1000000"
            #expect(faults == (isFault ? [fault] : []), "\(settings)")
        }
        for (limit, inFlight) in [(1, 1024), (976, 1024), (977, 1023), (600_000, 1), (1_000_000, 1)] {
            let read = try SettingsReading.ofDispatcher(#""kind": "worker", "dispatch_limit": \#(limit)"#)
            #expect(read.settings?.dispatchers.first?.common.inFlight == inFlight)
        }
    }

    @Test("K1: all settings of a dispatcher of kind http are read")
    func http() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "http", "endpoint": "collector.example/e", "method": "GET", "format": "envelope",
            "envelope_schema": "shop/2", "cloudevents_source": "/s", "cloudevents_type_prefix": "x.", "gzip": true,
            "zstd": false, "timeout_ms": 1, "connect_timeout_ms": 2, "unix_socket": "/s",
            "headers": {"X-A": "1", "Authorization": {"file": "/key"}, "X-B": {"env": "B"}},
            "tls": {"ca_file": "/ca", "cert_file": "/cert", "key_file": "/tls-key"},
            "retry_for_status_codes": {"403": true, "500": false}, "on_unauthorized": "pause"
            """#)
        var http = HTTPSettings(endpoint: "https://collector.example/e")
        let form = EventForm(
            method: .get, format: .envelope, envelopeSchema: "shop/2",
            cloudEvents: CloudEventForm(source: "/s", typePrefix: "x."))
        http.headers = [
            .init(name: "X-A", value: .text("1")), .init(name: "Authorization", value: .file("/key")),
            .init(name: "X-B", value: .environment("B")),
        ]
        http.timeout = .milliseconds(1)
        http.connectTimeout = .milliseconds(2)
        http.gzip = true
        http.tls = HTTPSettings.TLS(caFile: "/ca", certFile: "/cert", keyFile: "/tls-key")
        http.unixSocket = "/s"
        http.answers = HTTPAnswerPolicy(retryForStatusCodes: [403: true, 500: false], onUnauthorized: .pause)
        let dispatcher = try #require(reading.settings?.dispatchers.first)
        #expect(reading.findings == SettingsFindings())
        #expect(dispatcher.kind == KindSettings(HTTPKind(), HTTPDispatcherSettings(http: http, form: form)))
    }

    @Test("K7: all settings of a dispatcher of kind otlp are read")
    func otlp() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "otlp", "endpoint": "http://collector.example:4318", "encoding": "protobuf", "scope_name": "s",
            "resource": {"service.name": "till", "shop": 7}, "severity_path": "how", "body_path": "data.text",
            "gzip": true, "headers": {"X-A": "1"}
            """#)
        var http = HTTPSettings(endpoint: "http://collector.example:4318/v1/logs", gzip: true)
        http.headers = [.init(name: "X-A", value: .text("1"))]
        let mapping = LogMapping(
            resource: ["service.name": "till", "shop": 7], scopeName: "s", severity: "data.how", body: "data.text")
        #expect(reading.findings == SettingsFindings())
        #expect(
            reading.settings?.dispatchers.first?.kind
                == KindSettings(
                    OTLPKind(), OTLPSettings(http: http, form: OTLPForm(encoding: .protobuf, mapping: mapping))))
    }

    @Test(
        "K7: the default path of an otlp endpoint is /v1/logs",
        arguments: [
            ("c.example", "https://c.example/v1/logs"), ("http://c:4318/", "http://c:4318/v1/logs"),
            ("http://c/otlp/v1/logs", "http://c/otlp/v1/logs"), ("http://c/?a=b", "http://c/?a=b"),
        ])
    func path(endpoint: String, whole: String) throws {
        let reading = try SettingsReading.ofDispatcher(#""kind": "otlp", "endpoint": "\#(endpoint)""#)
        let settings = reading.settings?.dispatchers.first?.kind.settings as? OTLPSettings
        #expect(settings?.http.endpoint == whole)
    }

    @Test("K2: all settings of a dispatcher of kind file are read")
    func file() throws {
        let reading = try SettingsReading.ofDispatcher(
            #""kind": "file", "path": "a/b", "rotate_bytes": 1, "rotate_s": 2, "keep": 0"#)
        #expect(
            reading.settings?.dispatchers.map(\.kind)
                == [
                    KindSettings(FileKind(), FileSettings(path: "a/b", rotateBytes: 1, rotateAge: .seconds(2), keep: 0))
                ])
    }

    @Test(
        "S2: faults of a dispatcher are reported with their paths",
        arguments: [
            (#""path": "f""#, ["kind: is required, and must be one of: http, otlp, file, worker, nats, kafka"]),
            (#""kind": "smoke""#, ["kind: must be one of: http, otlp, file, worker, nats, kafka"]),
            (#""kind": 1, "whatever": 1"#, ["kind: must be one of: http, otlp, file, worker, nats, kafka"]),
            (#""kind": "file""#, ["path: is required"]),
            (#""kind": "file", "path": """#, ["path: must be a path"]),
            (#""kind": "file", "path": "a/""#, ["path: must be a file, not a directory"]),
            (
                #""kind": "file", "path": "./events.db-wal""#,
                ["path: is a name that the daemon itself uses in the data directory"]
            ),
            (
                #""kind": "file", "path": "headgate.lock""#,
                ["path: is a name that the daemon itself uses in the data directory"]
            ),
            (#""kind": "http""#, ["endpoint: is required"]),
            (#""kind": "otlp""#, ["endpoint: is required"]),
            (#""kind": "otlp", "endpoint": "x", "encoding": "xml""#, ["encoding: must be one of: json, protobuf"]),
            (
                #""kind": "otlp", "endpoint": "x", "resource": {"a": []}"#,
                ["resource.a: must be a string, a number, true or false"]
            ),
            (#""kind": "http", "endpoint": 1"#, ["endpoint: must be a string"]),
            (#""kind": "http", "endpoint": "ftp://x""#, ["endpoint: must be a URL with http:// or https://"]),
            (#""kind": "http", "endpoint": "x", "method": "get""#, ["method: must be one of: POST, GET"]),
            (
                #""kind": "http", "endpoint": "x", "format": "xml""#,
                ["format: must be one of: json_array, ndjson, envelope, cloudevents, cloudevents_single"]
            ),
            (
                #""kind": "http", "endpoint": "x", "format": "cloudevents""#,
                ["cloudevents_source: is required with the format cloudevents"]
            ),
            (
                #""kind": "http", "endpoint": "x", "format": "cloudevents_single", "cloudevents_source": "a b""#,
                ["cloudevents_source: must be a URI reference, like urn:shop:till-1 or /shop/till-1"]
            ),
            (
                #""kind": "http", "endpoint": "x", "cloudevents_source": """#,
                ["cloudevents_source: must be a URI reference, like urn:shop:till-1 or /shop/till-1"]
            ),
            (
                #""kind": "http", "endpoint": "x", "cloudevents_source": "a%2", "cloudevents_type_prefix": "a\n""#,
                [
                    "cloudevents_source: must be a URI reference, like urn:shop:till-1 or /shop/till-1",
                    "cloudevents_type_prefix: must be visible ASCII, like com.example.",
                ]
            ),
            (
                #""kind": "http", "endpoint": "x", "method": "GET", "format": "cloudevents", "cloudevents_source": "/""#,
                ["format: cloudevents needs the method POST"]
            ),
            (#""kind": "http", "endpoint": "x", "gzip": true, "zstd": true"#, ["zstd: must not be true with gzip"]),
            (#""kind": "http", "endpoint": "x", "tls": {"key_file": "k"}"#, ["tls.key_file: needs a cert_file"]),
            (
                #""kind": "http", "endpoint": "x", "on_unauthorized": "retry""#,
                ["on_unauthorized: must be one of: dead, pause"]
            ),
            (
                #""kind": "http", "endpoint": "x", "retry_for_status_codes": {"abc": true, "200": true, "403": 1}"#,
                [
                    "retry_for_status_codes.abc: must be a status code from 300 to 999",
                    "retry_for_status_codes.200: must be a status code from 300 to 999",
                    "retry_for_status_codes.403: must be true (retry) or false (dead-letter)",
                ]
            ),
        ])
    func faults(members: String, lines: [String]) throws {
        let reading = try SettingsReading.ofDispatcher(members)
        #expect(reading.findings.lines == lines.map { "dispatchers.d." + $0 })
        #expect(reading.settings == nil)
    }

    @Test(
        "A dispatcher's name of 1 to 64 letters, digits, dots, hyphens and underscores is accepted",
        arguments: ["collect", "a", "A_b-c.9", String(repeating: "x", count: 64)])
    func goodName(id: String) {
        #expect(DispatcherID.problem(about: id) == nil)
    }

    @Test(
        "B4: `all`, other characters and longer texts are refused as a dispatcher's name",
        arguments: ["all", "", "a b", "é", "a/b", "a:b", "\n"])
    func badName(id: String) {
        #expect(DispatcherID.problem(about: id) != nil)
        #expect(DispatcherID.problem(about: String(repeating: "x", count: 65)) != nil)
    }

    @Test("K2: two dispatchers with the same file are a fault, but both may write to /dev/null")
    func sharedFiles() throws {
        let reading = try SettingsReading.of(
            #"""
            {"dispatchers": {
              "a": {"kind": "file", "path": "x/y"}, "b": {"kind": "file", "path": "./x//y"},
              "c": {"kind": "file", "path": "/x/y"}, "d": {"kind": "file", "path": "/dev/null"},
              "e": {"kind": "file", "path": "/dev/null"}}}
            """#)
        #expect(reading.findings.lines == ["dispatchers.b.path: is the file of dispatcher `a`"])
    }

    @Test(
        "K2: a dispatcher's path must not be the name of another dispatcher's rotated file", arguments: [true, false])
    func rotatedNames(isFirst: Bool) throws {
        let (whole, rotated) = (
            #""a": {"kind": "file", "path": "c", "rotate_bytes": 9}"#, #""b": {"kind": "file", "path": "c.1"}"#
        )
        let entries = isFirst ? "\(whole), \(rotated)" : "\(rotated), \(whole)"
        let faults = try SettingsReading.of(#"{"dispatchers": {\#(entries)}}"#).faults
        #expect(faults.count == 1 && faults[0].path == "dispatchers.\(isFirst ? "b" : "a").path")
        // A numbered name is free if the other file is not rotated; other suffixes are always free.
        let free =
            #""a": {"kind": "file", "path": "c"}, "b": {"kind": "file", "path": "c.1"}, "#
            + #""d": {"kind": "file", "path": "c.01", "rotate_bytes": 9}, "e": {"kind": "file", "path": "c.x"}"#
        #expect(try SettingsReading.of(#"{"dispatchers": {\#(free)}}"#).faults == [])
    }

    @Test("K2: paths are compared after resolving links and dots; files of the daemon's store are refused")
    func canonicalPaths() throws {
        let folder = try ScratchFolder()
        let data = folder("data")
        try FileManager.default.createDirectory(atPath: data + "/sub", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder("link"), withDestinationPath: data)
        let read = { (paths: [String]) in
            let entries = paths.enumerated().map { ("d\($0)", ["kind": "file", "path": .string($1)] as DataItem) }
            return Settings.read(["dispatchers": .object(DataObject(entries))], directory: data)
        }
        for other in ["sub/../x", "\(data)/x", folder("link/x"), "./x", "../data/x"] {
            #expect(read(["x", other]).faults.map(\.path) == ["dispatchers.d1.path"], "\(other)")
        }
        for own in [
            "log", "log/x", "./log/000.log", folder("link/headgate.lock"), "sub/../events.db-wal",
            "persisted-settings.json", "remote-settings.json", "damaged/x",
        ] {
            #expect(read([own]).faults.map(\.path) == ["dispatchers.d0.path"], "\(own)")
        }
        for directory in ["sub", ".", "..", folder.path] {
            #expect(
                read([directory]).faults.map(\.description) == ["dispatchers.d0.path: must be a file, not a directory"])
        }
        #expect(read(["log.ndjson", "events.ndjson", "sub/log", "/dev/null", "/dev/null", folder("log")]).faults == [])
    }

    @Test("K2: a dispatcher's path must not be the configuration, the socket, or a file that the settings refer to")
    func ownFiles() throws {
        let folder = try ScratchFolder()
        let own = [folder("headgate.json"): "the daemon's configuration", folder("h.sock"): "the daemon's socket"]
        let faults = { (path: String) in
            let sender: DataItem = ["kind": "file", "path": .string(path)]
            let secret: DataItem = ["Authorization": ["file": .string(folder("token")), "prefix": "Bearer "]]
            let http: DataItem = ["kind": "http", "endpoint": "http://127.0.0.1:1/", "headers": secret]
            return Settings.read(
                ["dispatchers": ["f": sender, "h": http]], directory: folder("data"), ownFiles: own
            ).faults.map(\.description)
        }
        #expect(
            faults("../headgate.json") == ["dispatchers.f.path: is the file of the daemon's configuration"])
        #expect(faults(folder("./h.sock")) == ["dispatchers.f.path: is the file of the daemon's socket"])
        #expect(
            faults(folder("token")) == ["dispatchers.h.headers.Authorization.file: is the file of dispatcher `f`"])
        #expect(faults(folder("other")) == [])
    }

    @Test("Dispatchers keep the order of the configuration")
    func order() throws {
        let reading = try SettingsReading.of(
            #"""
            {"dispatchers": {"z": {"kind": "file", "path": "1"}, "a": {"kind": "file", "path": "2"},
             "m": {"kind": "file", "path": "3"}}}
            """#)
        #expect(reading.settings?.dispatcherIDs == ["z", "a", "m"])
    }
}
