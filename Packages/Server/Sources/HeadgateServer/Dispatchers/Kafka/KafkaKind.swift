import HeadgateCore
import HeadgateData

/// The kind of dispatchers that produce to a Kafka cluster (Behaviour K6).
struct KafkaKind: DispatcherKind {
    let name = "kafka"

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> KafkaSettings {
        entry.require("brokers")
        entry.require("topic")
        var settings = KafkaSettings(brokers: entry.kafkaBrokers("brokers"), topic: entry.kafkaTopic("topic") ?? "")
        entry.word("compression", of: KafkaSettings.Compression.allCases, into: &settings.compression)
        entry.section("sasl") { settings.sasl = KafkaSettings.SASL($0) }
        entry.section("tls") { section in
            var tls = HTTPSettings.TLS()
            tls.read(section)
            settings.tls = tls
        }
        // Less than a second would time out every batch, and librdkafka stores the time in 32 bits.
        entry.milliseconds("timeout_ms", atLeast: 1000, atMost: Int(Int32.max), into: &settings.timeout)
        entry.milliseconds("connect_timeout_ms", atMost: Int(Int32.max), into: &settings.connectTimeout)
        entry.word("on_unauthorized", of: [.retry, .pause], into: &settings.onUnauthorized)
        let most = common.dispatchLimit.multipliedReportingOverflow(by: common.inFlight)
        settings.mostEvents =
            most.overflow ? DispatcherSettings.mostBuffered : min(most.partialValue, DispatcherSettings.mostBuffered)
        return settings
    }

    func reachesNetwork(_ settings: KafkaSettings) -> Bool {
        settings.brokers.contains { !$0.authority.isLoopback }
    }

    func makeSender(
        of dispatcher: String, _ settings: KafkaSettings, in context: SenderContext
    ) throws -> any Sender {
        // librdkafka's threads wake the scheduler, which only an event loop allows.
        _ = try context.requireLoop()
        return try MessageSender(settings, on: context.scheduler)
    }
}

extension SettingsReader {
    /// Reads the brokers of a cluster, at least one.
    fileprivate func kafkaBrokers(_ key: String) -> [KafkaBroker] {
        guard let items = array(key) else { return [] }
        if items.isEmpty { fault(key, "", "must name at least one broker") }
        return items.enumerated().compactMap { index, item in
            do throws(Endpoint.Fault) {
                guard let text = String(dataItem: item) else { throw Endpoint.Fault(message: "must be a string") }
                return try KafkaBroker(text)
            } catch {
                fault(key, "[\(index)]", error.message)
                return nil
            }
        }
    }

    fileprivate func kafkaTopic(_ key: String) -> String? {
        guard let topic = string(key) else { return nil }
        if !KafkaSettings.isTopic(topic) { fault(key, "", "must have 1 to 249 letters (a-z), digits, `_`, `-` or `.`") }
        return topic
    }
}

extension KafkaSettings.SASL {
    fileprivate init(_ reader: SettingsReader) {
        for key in ["mechanism", "user", "password_file"] { reader.require(key) }
        reader.word("mechanism", of: Mechanism.allCases, into: &mechanism)
        user = reader.string("user") ?? ""
        if user.utf8.contains(0) { reader.fault("user", "", "must be without NUL") }
        passwordFile = reader.readFile("password_file") ?? ""
    }
}

/// The settings of a dispatcher of kind `kafka`, beyond those that all kinds have (Behaviour K6).
struct KafkaSettings: Sendable, Equatable {
    /// Some brokers of the cluster, which name the others.
    var brokers: [KafkaBroker]
    /// The topic of all events.
    var topic: String
    var compression = Compression.none
    /// The authentication, or nil for none.
    var sasl: SASL?
    /// The TLS files, or nil for unencrypted connections.
    var tls: HTTPSettings.TLS?
    /// The longest time that a batch may wait for its acknowledgements, including connecting.
    var timeout = Duration.seconds(30)
    /// The longest time that connecting to one broker may take.
    var connectTimeout = Duration.seconds(10)
    /// The effect of a refused authentication or authorization.
    var onUnauthorized = OnUnauthorized.retry
    /// The most events in flight.
    var mostEvents = 25

    /// librdkafka's compression of messages.
    enum Compression: String, Sendable, CaseIterable {
        case none, gzip, snappy, lz4, zstd
    }

    enum OnUnauthorized: String, Sendable {
        /// The events are sent again after a wait.
        case retry
        /// The dispatcher pauses until it is resumed or its settings change (Behaviour D7).
        case pause
    }

    /// The authentication of the producer.
    struct SASL: Sendable, Equatable {
        var mechanism = Mechanism.scramSHA512
        var user = ""
        /// The file of the password, which is read for each producer without one line end.
        var passwordFile = ""

        init() {}

        enum Mechanism: String, Sendable, CaseIterable {
            case plain = "PLAIN"
            case scramSHA256 = "SCRAM-SHA-256"
            case scramSHA512 = "SCRAM-SHA-512"
        }
    }

    static func isTopic(_ name: String) -> Bool {
        let isAllowed = { (byte: UInt8) in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "_-.".utf8.contains(byte)
            }
        }
        return (1...249).contains(name.utf8.count) && name.utf8.allSatisfy(isAllowed) && name != "." && name != ".."
    }
}

/// The address of a broker: its host, and its port if it is not 9092.
struct KafkaBroker: Sendable, Equatable {
    let authority: Authority

    init(_ text: String) throws(Endpoint.Fault) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !text.contains(where: { "/?#@,".contains($0) }) else {
            throw Endpoint.Fault(message: "must be a host, or a host and a port like broker.example:9092")
        }
        authority = try Authority(text[...])
    }

    /// The address in librdkafka's form.
    var text: String {
        let host = authority.host.contains(":") ? "[\(authority.host)]" : authority.host
        return "\(host):\(authority.port ?? 9092)"
    }
}
