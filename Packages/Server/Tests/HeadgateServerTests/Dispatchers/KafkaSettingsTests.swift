import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Dispatchers of kind kafka in settings")
struct KafkaSettingsTests {
    @Test("K6: all settings of a dispatcher of kind kafka are read")
    func all() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "kafka", "brokers": ["a.example:9093", "[::1]", "b.example"], "topic": "shop.till-7",
            "compression": "zstd", "sasl": {"mechanism": "SCRAM-SHA-256", "user": "u", "password_file": "/password"},
            "tls": {"ca_file": "/ca", "cert_file": "/cert", "key_file": "/key"},
            "timeout_ms": 1000, "connect_timeout_ms": 2, "on_unauthorized": "pause", "dispatch_limit": 7,
            "in_flight": 3
            """#)
        #expect(reading.findings == SettingsFindings())
        var kafka = KafkaSettings(
            brokers: [try KafkaBroker("a.example:9093"), try KafkaBroker("[::1]"), try KafkaBroker("b.example")],
            topic: "shop.till-7")
        var sasl = KafkaSettings.SASL()
        (sasl.mechanism, sasl.user, sasl.passwordFile) = (.scramSHA256, "u", "/password")
        kafka.sasl = sasl
        kafka.compression = .zstd
        kafka.tls = HTTPSettings.TLS(caFile: "/ca", certFile: "/cert", keyFile: "/key")
        kafka.timeout = .seconds(1)
        kafka.connectTimeout = .milliseconds(2)
        kafka.onUnauthorized = .pause
        kafka.mostEvents = 21
        #expect(reading.settings?.dispatchers.map(\.kind) == [KindSettings(KafkaKind(), kafka)])
    }

    @Test(
        "S2: faults of a dispatcher of kind kafka are reported with their paths",
        arguments: [
            (#""topic": "t""#, ["brokers: is required"]),
            (
                #""brokers": ["a"], "topic": "t", "timeout_ms": 999, "connect_timeout_ms": 3000000000"#,
                [
                    "timeout_ms: must be a whole number from 1000 to 2147483647",
                    "connect_timeout_ms: must be a whole number from 1 to 2147483647",
                ]
            ),
            (#""brokers": ["a"]"#, ["topic: is required"]),
            (#""brokers": [], "topic": "t""#, ["brokers: must name at least one broker"]),
            (
                #""brokers": ["a", 1, "kafka://a", "u@a", "a,b", "a:0"], "topic": "t""#,
                [
                    "brokers[1]: must be a string",
                    "brokers[2]: must be a host, or a host and a port like broker.example:9092",
                    "brokers[3]: must be a host, or a host and a port like broker.example:9092",
                    "brokers[4]: must be a host, or a host and a port like broker.example:9092",
                    "brokers[5]: must have a port from 1 to 65535, or none",
                ]
            ),
            (#""brokers": ["a"], "topic": "..""#, ["topic: must have 1 to 249 letters (a-z), digits, `_`, `-` or `.`"]),
            (
                #""brokers": ["a"], "topic": "t", "sasl": {}"#,
                ["sasl.mechanism: is required", "sasl.user: is required", "sasl.password_file: is required"]
            ),
            (#""brokers": ["a"], "topic": "t", "tls": {"key_file": "k"}"#, ["tls.key_file: needs a cert_file"]),
        ])
    func faults(members: String, lines: [String]) throws {
        let reading = try SettingsReading.ofDispatcher(#""kind": "kafka", "# + members)
        #expect(reading.findings.lines.filter { !$0.contains("warning") } == lines.map { "dispatchers.d." + $0 })
    }

    @Test(
        "B20: a dispatcher reaches the network unless all its brokers are on this machine",
        arguments: [(["localhost", "127.0.0.1:1", "[::1]:9"], false), (["localhost", "b.example"], true)])
    func network(brokers: [String], reaches: Bool) throws {
        let settings = KafkaSettings(brokers: try brokers.map { try KafkaBroker($0) }, topic: "t")
        #expect(KafkaKind().reachesNetwork(settings) == reaches)
    }

    @Test("K6: librdkafka is configured to wait for all replicas, to keep the order, and with the security settings")
    func properties() throws {
        var settings = KafkaSettings(brokers: [try KafkaBroker("a"), try KafkaBroker("[::1]:7")], topic: "t")
        var properties = Dictionary(uniqueKeysWithValues: settings.properties.map { ($0.name, $0.value) })
        for (name, value) in [
            ("bootstrap.servers", "a:9092,[::1]:7"), ("enable.idempotence", "true"), ("acks", "all"),
            ("security.protocol", "plaintext"), ("message.timeout.ms", "0"), ("compression.type", "none"),
            ("queue.buffering.max.messages", "50"), ("enable.gapless.guarantee", "true"),
            ("max.in.flight.requests.per.connection", "1"),
            ("socket.connection.setup.timeout.ms", "10000"),
        ] {
            #expect(properties[name] == value, "\(name)")
        }
        settings.connectTimeout = .milliseconds(3_000_000_000)
        let longest = settings.properties.first { $0.name == "socket.connection.setup.timeout.ms" }
        #expect(longest?.value == "2147483647", "the largest value that librdkafka accepts")
        #expect(properties["sasl.mechanisms"] == nil && properties["ssl.ca.location"] == nil)
        settings.tls = HTTPSettings.TLS(caFile: "/ca", certFile: "/both")
        var sasl = KafkaSettings.SASL()
        (sasl.mechanism, sasl.user, sasl.passwordFile) = (.plain, "u", "/password")
        settings.sasl = sasl
        properties = Dictionary(uniqueKeysWithValues: settings.properties.map { ($0.name, $0.value) })
        for (name, value) in [
            ("security.protocol", "sasl_ssl"), ("sasl.mechanisms", "PLAIN"), ("sasl.username", "u"),
            ("ssl.ca.location", "/ca"), ("ssl.certificate.location", "/both"), ("ssl.key.location", "/both"),
            ("ssl.endpoint.identification.algorithm", "https"),
        ] {
            #expect(properties[name] == value, "\(name)")
        }
    }
}
