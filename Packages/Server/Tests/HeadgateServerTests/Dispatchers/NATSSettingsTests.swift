import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Dispatchers of kind nats in settings")
struct NATSSettingsTests {
    @Test("K4: all settings of a dispatcher of kind nats are read")
    func all() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "nats", "servers": ["nats://a.example:4222", "tls://u:p@[::1]", "b.example"], "subject": "shop.till-7",
            "stream": "SHOP", "create_stream": true, "credentials_file": "/creds",
            "tls": {"ca_file": "/ca", "cert_file": "/cert", "key_file": "/key"},
            "timeout_ms": 1, "connect_timeout_ms": 2, "dispatch_limit": 7
            """#)
        #expect(reading.findings == SettingsFindings())
        var nats = NATSSettings(
            servers: [
                try NATSServer("nats://a.example:4222"), try NATSServer("tls://u:p@[::1]"), try NATSServer("b.example"),
            ], subject: "shop.till-7")
        nats.stream = "SHOP"
        nats.createStream = true
        nats.credentialsFile = "/creds"
        nats.tls = HTTPSettings.TLS(caFile: "/ca", certFile: "/cert", keyFile: "/key")
        nats.timeout = .milliseconds(1)
        nats.connectTimeout = .milliseconds(2)
        let dispatcher = try #require(reading.settings?.dispatchers.first)
        #expect(dispatcher.kind == KindSettings(NATSKind(), nats))
        #expect(dispatcher.kind.kind == "nats")
        #expect(dispatcher.common.dispatchLimit == 7)
    }

    @Test("K4: only servers and subject are required; an empty tls object requires TLS")
    func least() throws {
        let reading = try SettingsReading.ofDispatcher(
            #""kind": "nats", "servers": ["localhost"], "subject": "events", "tls": {}"#)
        #expect(reading.findings == SettingsFindings())
        var nats = NATSSettings(servers: [try NATSServer("localhost")], subject: "events")
        nats.tls = HTTPSettings.TLS()
        #expect(reading.settings?.dispatchers.map(\.kind) == [KindSettings(NATSKind(), nats)])
    }

    @Test(
        "S2: faults of a dispatcher of kind nats are reported with their paths",
        arguments: [
            (#""subject": "s""#, ["servers: is required"]),
            (#""servers": ["a"]"#, ["subject: is required"]),
            (#""servers": [], "subject": "s""#, ["servers: must name at least one server"]),
            (#""servers": "a", "subject": "s""#, ["servers: must be a list"]),
            (
                #""servers": ["a", 1, "http://a", "nats://a/x", "a:0"], "subject": "s""#,
                [
                    "servers[1]: must be a string", "servers[2]: must be a URL with nats:// or tls://",
                    "servers[3]: must end with the host or the port",
                    "servers[4]: must have a port from 1 to 65535, or none",
                ]
            ),
            (#""servers": ["a"], "subject": "a.*""#, ["subject: must be without wildcards"]),
            (
                #""servers": ["a"], "subject": "a..b""#,
                ["subject: must be words separated by dots, without spaces"]
            ),
            (
                #""servers": ["a"], "subject": "$JS.API.STREAM.DELETE.X""#,
                ["subject: must not begin with `$`, which is reserved for the servers"]
            ),
            (
                #""servers": ["a"], "subject": "s", "stream": "a.b""#,
                [#"stream: must be a name without spaces, `.`, `*`, `>`, `/` and `\`"#]
            ),
            (#""servers": ["a"], "subject": "s", "create_stream": true"#, ["stream: is required with create_stream"]),
            (#""servers": ["a"], "subject": "s", "tls": {"key_file": "k"}"#, ["tls.key_file: needs a cert_file"]),
            (#""servers": ["a"], "subject": "s", "credentials_file": 1"#, ["credentials_file: must be a string"]),
            (
                #""servers": ["a"], "subject": "s", "timeout_ms": 0"#,
                ["timeout_ms: must be a whole number from 1 to 2147483647"]
            ),
        ] as [(String, [String])])
    func faults(text: String, faults: [String]) throws {
        let reading = try SettingsReading.ofDispatcher(#""kind": "nats", "# + text)
        #expect(reading.findings.faults.map(\.description) == faults.map { "dispatchers.d.\($0)" })
        #expect(reading.settings == nil)
    }

    @Test("X4: config.get blanks users and passwords of servers, with a scheme or without")
    func blanked() throws {
        let shown = SettingsDisplay.blanked([
            "dispatchers": .object([
                "d": .object(["servers": .array(["nats://u:secret@a:1", "token@b", "c:4222"])])
            ])
        ])
        let expected: DataObject = ["servers": .array(["nats://***@a:1", "***@b", "c:4222"])]
        #expect(shown == ["dispatchers": .object(["d": .object(expected)])])
    }

    @Test("K4: missing credential and certificate files cause warnings")
    func references() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "nats", "servers": ["a"], "subject": "s", "credentials_file": "/creds", "tls": {"ca_file": "/ca"}
            """#)
        let settings = try #require(reading.settings)
        let warnings = settings.references.compactMap { $0.warning(environment: [:]) { _ in false } }
        #expect(
            warnings.map(\.description) == [
                "dispatchers.d.tls.ca_file: the file cannot be read",
                "dispatchers.d.credentials_file: the file cannot be read",
            ])
    }

    @Test(
        "B20: a dispatcher reaches the network unless all its servers are on this machine",
        arguments: [
            (["localhost", "127.0.0.1:4222", "tls://[::1]:4222"], false),
            (["localhost", "nats://10.0.0.1"], true),
            (["u:p@127.1.2.3"], false),
            (["127.0.0.1.example"], true),
        ])
    func network(servers: [String], reachesNetwork: Bool) throws {
        let nats = NATSSettings(servers: try servers.map { try NATSServer($0) }, subject: "s")
        #expect(NATSKind().reachesNetwork(nats) == reachesNetwork)
    }
}

@Suite("NATS servers, subjects and streams")
struct NATSServerTests {
    @Test("K4: a server is a nats or tls URL, with nats if it names no scheme")
    func good() throws {
        let server = try NATSServer("TLS://u:p@h.example:4443")
        #expect(server.text == "tls://u:p@h.example:4443")
        #expect(server.isSecure)
        #expect(server.authority.userInfo == "u:p")
        #expect(server.authority.host == "h.example")
        #expect(server.authority.port == 4443)
        let bare = try NATSServer("h:1")
        #expect(bare.text == "nats://h:1")
        #expect(!bare.isSecure)
        #expect(bare.decodedText == bare.text)
        #expect(try NATSServer("tls://u:p%40%2F@h:1").decodedText == "tls://u:p@/@h:1")
    }

    @Test(
        "A text that is not a valid NATS URL is refused as a server",
        arguments: [
            "", " ", "nats://", "nats://:4222", "http://a", "ws://a", "a b", "a\n", "a/b", "a?x", "a:65536", "a%00@b",
        ])
    func bad(text: String) {
        #expect(throws: Endpoint.Fault.self) { try NATSServer(text) }
    }

    @Test("K4: valid subjects are accepted", arguments: ["a", "a.b.c", "shop.till-7", "bücher.x", "a>b", "a*"])
    func subjects(subject: String) {
        #expect(NATSName.problem(aboutSubject: subject) == nil)
    }

    @Test(
        "K4: invalid subjects are refused",
        arguments: ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\nPUB x", "*", "a.>", "$SYS.x", "a\u{7F}"]
            + [String(repeating: "a", count: 256)])
    func badSubjects(subject: String) {
        #expect(NATSName.problem(aboutSubject: subject) != nil)
    }

    @Test(
        "K4: the names of streams are checked",
        arguments: [("A-1_b", true), ("", false), ("a b", false), ("a>", false), ("a/b", false)])
    func streams(name: String, isGood: Bool) {
        #expect((NATSName.problem(aboutStream: name) == nil) == isGood)
    }
}
