import HeadgateCore
import HeadgateData

/// Dispatchers that publish to a NATS cluster (Behaviour K4).
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
        // More does not fit the numbers by which libnats waits.
        entry.milliseconds("timeout_ms", atMost: Int(Int32.max), into: &settings.timeout)
        entry.milliseconds("connect_timeout_ms", atMost: Int(Int32.max), into: &settings.connectTimeout)
        return settings
    }

    func reachesNetwork(_ settings: NATSSettings) -> Bool {
        settings.servers.contains { !$0.authority.isLoopback }
    }

    func makeSender(
        of dispatcher: String, _ settings: NATSSettings, in surroundings: SenderSurroundings
    ) throws -> any Sender {
        // Libnats crosses to the scheduler from its threads, which only a loop can be woken from.
        _ = try surroundings.requireLoop()
        return try MessageSender(settings, on: surroundings.scheduler)
    }
}

extension SettingsReader {
    /// The servers of a cluster, at least one.
    fileprivate func natsServers(_ key: String) -> [NATSServer] {
        guard let items = array(key) else { return [] }
        if items.isEmpty { fault(key, "", "must name a server at least") }
        return items.enumerated().compactMap { place, item in
            do throws(Endpoint.Fault) {
                guard let text = String(dataItem: item) else { throw Endpoint.Fault(message: "must be a string") }
                return try NATSServer(text)
            } catch {
                fault(key, "[\(place)]", error.message)
                return nil
            }
        }
    }

    /// A subject that one may publish to.
    fileprivate func natsSubject(_ key: String) -> String? {
        guard let subject = string(key) else { return nil }
        if let complaint = NATSName.complaint(aboutSubject: subject) { fault(key, "", complaint) }
        return subject
    }

    fileprivate func natsStream(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        if let complaint = NATSName.complaint(aboutStream: name) { fault(key, "", complaint) }
        return name
    }
}

/// What a dispatcher of kind `nats` can be told beyond what all can (Behaviour K4).
struct NATSSettings: Sendable, Equatable {
    /// Servers of one cluster; any of them will do.
    var servers: [NATSServer]
    /// Where each event is published.
    var subject: String
    /// The stream that has to take the events; nil: whichever takes the subject.
    var stream: String?
    /// Whether the stream is made where it is missing.
    var createStream = false
    /// What the stream recognises an event by.
    var messageID = MessageID.dispatch
    /// A file with a user's JWT and key.
    var credentialsFile: String?
    /// How connections are encrypted; nil: as the servers' schemes and the servers themselves say.
    var tls: HTTPSettings.TLS?
    /// The longest that a batch may wait for its acknowledgements, connecting included.
    var timeout = Duration.seconds(30)
    /// The longest that connecting to one server may take.
    var connectTimeout = Duration.seconds(10)

    /// The header `Nats-Msg-Id` of each message.
    enum MessageID: String, Sendable, CaseIterable {
        /// The key of the event on its way to this dispatcher, which no other sender uses (Behaviour K8).
        case dispatch
        /// The event's id: the stream stores an id from several machines or dispatchers once.
        case event

        func text(of event: Batch.Event, in batch: Batch) -> String {
            switch self {
            case .dispatch: batch.deduplicationKey(of: event)
            // Ids are any text, headers are not.
            case .event: PercentEncoding.header(event.plainId)
            }
        }
    }
}

/// A NATS server's URL (Behaviour K4).
struct NATSServer: Equatable {
    /// Whether the scheme asks for TLS.
    let isSecure: Bool
    /// Where it is, and the user and password or token for it. A secret (Behaviour X4).
    let authority: Authority
    /// The whole, scheme and all.
    let text: String

    /// Reads a URL; without a scheme it is one of `nats`.
    init(_ text: String) throws(Endpoint.Fault) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Endpoint.Fault(message: "must be a URL without spaces and control characters")
        }
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() } ?? "nats"
        guard scheme == "nats" || scheme == "tls" else {
            throw Endpoint.Fault(message: "must be a URL with nats:// or tls://")
        }
        let place = mark.map { text[$0.upperBound...] } ?? text[...]
        guard !place.contains(where: { "/?#".contains($0) }) else {
            throw Endpoint.Fault(message: "must end with the host or the port")
        }
        isSecure = scheme == "tls"
        authority = try Authority(place)
        if let userInfo = authority.userInfo, PercentEncoding.decode(userInfo).utf8.contains(0) {
            throw Endpoint.Fault(message: "must have no NUL in user and password")
        }
        self.text = "\(scheme)://\(place)"
    }

    /// The URL with user and password as they are: libnats does not undo percent-encoding.
    var decodedText: String {
        guard let userInfo = authority.userInfo, let at = text.lastIndex(of: "@") else { return text }
        return (isSecure ? "tls://" : "nats://") + PercentEncoding.decode(userInfo) + text[at...]
    }
}

/// What may name things of NATS.
enum NATSName {
    /// The most bytes that a subject or a stream's name may have.
    private static let longest = 255

    /// What is wrong with a subject to publish to; nil when it will do. A wildcard can be listened on only, and what
    /// begins with `$` is the servers' own: a stream never takes it.
    static func complaint(aboutSubject subject: String) -> String? {
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...longest).contains(subject.utf8.count), tokens.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isVisible) })
        else { return "must be words with dots between them, without spaces" }
        if tokens.contains(where: { $0.elementsEqual("*".utf8) || $0.elementsEqual(">".utf8) }) {
            return "must be without wildcards"
        }
        return subject.hasPrefix("$") ? "must not begin with `$`, which is the servers' own" : nil
    }

    /// What is wrong with a stream's name; nil when it will do.
    static func complaint(aboutStream name: String) -> String? {
        let isAllowed = { (byte: UInt8) in isVisible(byte) && !".*>/\\".utf8.contains(byte) }
        if (1...longest).contains(name.utf8.count), name.utf8.allSatisfy(isAllowed) { return nil }
        return #"must be a name without spaces, `.`, `*`, `>`, `/` and `\`"#
    }

    /// Bytes of characters beyond ASCII are all taken.
    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F
    }
}
