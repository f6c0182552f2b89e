import HeadgateCore
import HeadgateData

/// The kind of dispatchers that publish to a NATS cluster (Behaviour K4).
struct NATSKind: DispatcherKind {
    let name = "nats"

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> NATSSettings {
        entry.require("servers")
        entry.require("subject")
        var settings = NATSSettings(servers: entry.natsServers("servers"), subject: entry.natsSubject("subject") ?? "")
        settings.stream = entry.natsStream("stream")
        entry.word("message_id", of: NATSSettings.MessageID.allCases, into: &settings.messageID)
        entry.bool("create_stream", into: &settings.createStream)
        if settings.createStream, entry.item("stream") == nil {
            entry.fault("stream", "", "is required with create_stream")
        }
        entry.section("tls") { section in
            var tls = HTTPSettings.TLS()
            tls.read(section)
            settings.tls = tls
        }
        settings.credentialsFile = entry.readFile("credentials_file")
        // libnats stores these times in 32 bits.
        entry.milliseconds("timeout_ms", atMost: Int(Int32.max), into: &settings.timeout)
        entry.milliseconds("connect_timeout_ms", atMost: Int(Int32.max), into: &settings.connectTimeout)
        return settings
    }

    func reachesNetwork(_ settings: NATSSettings) -> Bool {
        settings.servers.contains { !$0.authority.isLoopback }
    }

    func makeSender(
        of dispatcher: String, _ settings: NATSSettings, in context: SenderContext
    ) throws -> any Sender {
        // libnats's threads wake the scheduler, which only an event loop allows.
        _ = try context.requireLoop()
        return try MessageSender(settings, on: context.scheduler)
    }
}

extension SettingsReader {
    /// Reads the servers of a cluster, at least one.
    fileprivate func natsServers(_ key: String) -> [NATSServer] {
        guard let items = array(key) else { return [] }
        if items.isEmpty { fault(key, "", "must name at least one server") }
        return items.enumerated().compactMap { index, item in
            do throws(Endpoint.Fault) {
                guard let text = String(dataItem: item) else { throw Endpoint.Fault(message: "must be a string") }
                return try NATSServer(text)
            } catch {
                fault(key, "[\(index)]", error.message)
                return nil
            }
        }
    }

    /// Reads a subject that may be published to.
    fileprivate func natsSubject(_ key: String) -> String? {
        guard let subject = string(key) else { return nil }
        if let problem = NATSName.problem(aboutSubject: subject) { fault(key, "", problem) }
        return subject
    }

    fileprivate func natsStream(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        if let problem = NATSName.problem(aboutStream: name) { fault(key, "", problem) }
        return name
    }
}

/// The settings of a dispatcher of kind `nats`, beyond those that all kinds have (Behaviour K4).
struct NATSSettings: Sendable, Equatable {
    /// One or more servers of the cluster. One that can be reached is enough.
    var servers: [NATSServer]
    /// The subject of all events.
    var subject: String
    /// The stream that must receive the events, or nil for any stream of the subject.
    var stream: String?
    /// True if a missing stream is created.
    var createStream = false
    /// The value by which the stream recognises an event that is sent again.
    var messageID = MessageID.dispatch
    /// The file with a user's JWT and key, or nil.
    var credentialsFile: String?
    /// The TLS files, or nil to let the servers' schemes and the servers decide on encryption.
    var tls: HTTPSettings.TLS?
    /// The longest time that a batch may wait for its acknowledgements, including connecting.
    var timeout = Duration.seconds(30)
    /// The longest time that connecting to one server may take.
    var connectTimeout = Duration.seconds(10)

    /// True if the dispatcher connects with TLS only.
    var usesTLS: Bool { tls != nil || servers.contains(where: \.isSecure) }

    /// The header `Nats-Msg-Id` of each message.
    enum MessageID: String, Sendable, CaseIterable {
        /// The deduplication key of the event for this dispatcher, which no other sender uses (Behaviour K8).
        case dispatch
        /// The event's ID. The stream stores an ID once, even if several machines or dispatchers send it.
        case event

        func append(of event: Batch.Event, in batch: Batch, to text: inout [UInt8]) {
            switch self {
            case .dispatch: batch.appendDeduplicationKey(of: event, to: &text)
            // An ID may contain characters that headers may not contain.
            case .event: text.append(contentsOf: PercentEncoding.header(event.plainId).utf8)
            }
        }
    }
}

/// The URL of a NATS server (Behaviour K4).
struct NATSServer: Equatable {
    /// True if the scheme requires TLS.
    let isSecure: Bool
    /// The user with password or token, the host and the port. A secret (Behaviour X4).
    let authority: Authority
    /// The URL with its scheme. It contains the secrets of ``authority``.
    let text: String

    /// Reads a URL. Its default scheme is `nats`.
    init(_ text: String) throws(Endpoint.Fault) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Endpoint.Fault(message: "must be a URL without spaces and control characters")
        }
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() } ?? "nats"
        guard scheme == "nats" || scheme == "tls" else {
            throw Endpoint.Fault(message: "must be a URL with nats:// or tls://")
        }
        let hostAndPort = mark.map { text[$0.upperBound...] } ?? text[...]
        guard !hostAndPort.contains(where: { "/?#".contains($0) }) else {
            throw Endpoint.Fault(message: "must end with the host or the port")
        }
        isSecure = scheme == "tls"
        authority = try Authority(hostAndPort)
        if let userInfo = authority.userInfo, PercentEncoding.decode(userInfo).utf8.contains(0) {
            throw Endpoint.Fault(message: "must have no NUL in user and password")
        }
        self.text = "\(scheme)://\(hostAndPort)"
    }

    /// The URL with user and password decoded, because libnats does not decode percent-encoding.
    var decodedText: String {
        guard let userInfo = authority.userInfo, let at = text.lastIndex(of: "@") else { return text }
        return (isSecure ? "tls://" : "nats://") + PercentEncoding.decode(userInfo) + text[at...]
    }
}

/// The rules for names in NATS.
enum NATSName {
    /// The most bytes of a subject or a stream's name.
    private static let longest = 255

    /// Returns the fault of a subject to publish to, or nil if the subject is valid. A wildcard is only for
    /// subscribers. Subjects that begin with `$` belong to the servers, and no stream receives them.
    static func problem(aboutSubject subject: String) -> String? {
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...longest).contains(subject.utf8.count), tokens.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isVisible) })
        else { return "must be words separated by dots, without spaces" }
        if tokens.contains(where: { $0.elementsEqual("*".utf8) || $0.elementsEqual(">".utf8) }) {
            return "must be without wildcards"
        }
        return subject.hasPrefix("$") ? "must not begin with `$`, which is reserved for the servers" : nil
    }

    /// Returns the fault of a stream's name, or nil if the name is valid.
    static func problem(aboutStream name: String) -> String? {
        let isAllowed = { (byte: UInt8) in isVisible(byte) && !".*>/\\".utf8.contains(byte) }
        if (1...longest).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) { return nil }
        return #"must be a name without spaces, `.`, `*`, `>`, `/` and `\`"#
    }

    /// Returns true for visible ASCII, and for all bytes of other characters.
    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F
    }
}
