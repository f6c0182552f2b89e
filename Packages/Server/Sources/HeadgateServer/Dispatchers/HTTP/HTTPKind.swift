import HeadgateCore
import HeadgateData

/// The kind of dispatchers that send to an HTTP server (Behaviour K1).
struct HTTPKind: DispatcherKind {
    let name = "http"

    /// Reads the kind's own settings.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> HTTPSettings {
        entry.require("endpoint")
        var settings = HTTPSettings(endpoint: entry.endpoint("endpoint")?.text ?? "")
        entry.word("method", of: HTTPSettings.Method.allCases, into: &settings.method)
        entry.word("format", of: HTTPSettings.Format.allCases, into: &settings.format)
        settings.envelopeSchema = entry.string("envelope_schema") ?? settings.envelopeSchema
        readCloudEvents(entry, &settings)
        entry.milliseconds("timeout_ms", into: &settings.timeout)
        entry.milliseconds("connect_timeout_ms", into: &settings.connectTimeout)
        entry.bool("gzip", into: &settings.gzip)
        entry.bool("zstd", into: &settings.zstd)
        if settings.gzip, settings.zstd { entry.fault("zstd", "", "must not be true with gzip") }
        entry.section("tls") { settings.tls.read($0) }
        entry.section("headers", most: Limits.mostHeaders) { settings.headers = $0.headers() }
        settings.unixSocket = entry.socketPath("unix_socket")
        settings.isRepeated = common.retryFailedRequests
        settings.answers.read(entry)
        requireBoard(for: settings, entry, &common)
        return settings
    }

    private func readCloudEvents(_ entry: SettingsReader, _ settings: inout HTTPSettings) {
        let (source, prefix) = (entry.string("cloudevents_source"), entry.string("cloudevents_type_prefix"))
        settings.cloudEvents = CloudEventForm(source: source ?? "", typePrefix: prefix ?? "")
        if let source, !source.isURIReference {
            entry.fault("cloudevents_source", "", "must be a URI reference, like urn:shop:till-1 or /shop/till-1")
        }
        if let prefix, !prefix.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            entry.fault("cloudevents_type_prefix", "", "must be visible ASCII, like com.example.")
        }
        guard settings.format.isOfCloudEvents else { return }
        if entry.item("cloudevents_source") == nil {
            entry.fault("cloudevents_source", "", "is required with the format \(settings.format.rawValue)")
        }
        if settings.method == .get { entry.fault("format", "", "\(settings.format.rawValue) needs the method POST") }
    }

    /// Sets the members that the board of the activation barrier must put out for the headers (Behaviour A9). Adds a
    /// fault if there is no such barrier.
    private func requireBoard(
        for settings: HTTPSettings, _ entry: SettingsReader, _ common: inout DispatcherSettings
    ) {
        guard !settings.outputs.isEmpty else { return }
        if common.activationBarrier == nil {
            entry.fault("headers", "", "take a board's output, and there is no activation_barrier")
        }
        common.activationBarrier?.outputs = settings.outputs
    }

    func reachesNetwork(_ settings: HTTPSettings) -> Bool {
        settings.unixSocket == nil && !settings.isLoopback
    }

    func makeSender(
        of dispatcher: String, _ settings: HTTPSettings, in surroundings: SenderContext
    ) throws -> any Sender {
        try HTTPSender(settings, client: surroundings.requireHTTP())
    }
}

extension HTTPSettings.TLS {
    mutating func read(_ reader: SettingsReader) {
        caFile = reader.readFile("ca_file")
        certFile = reader.readFile("cert_file")
        keyFile = reader.readFile("key_file")
        if keyFile != nil, certFile == nil { reader.fault("key_file", "", "needs a cert_file") }
    }
}

extension SettingsReader {
    func endpoint(_ key: String) -> Endpoint? {
        guard let text = string(key) else { return nil }
        do throws(Endpoint.Fault) {
            return try Endpoint(text)
        } catch {
            fault(key, "", error.message)
            return nil
        }
    }
}

extension HTTPAnswerPolicy {
    /// Reads the settings that judge HTTP answers (Behaviour D3, D7).
    fileprivate mutating func read(_ reader: SettingsReader) {
        reader.word("on_unauthorized", of: [.dead, .pause], into: &onUnauthorized)
        reader.section("retry_for_status_codes") { codes in
            for key in codes.keys { readStatusCode(key, codes) }
        }
    }

    private mutating func readStatusCode(_ key: String, _ reader: SettingsReader) {
        guard let retry = reader.value(key, Bool.self, mustBe: "true (retry) or false (give up)") else { return }
        // A 2xx is a delivery before any rule applies, and a 1xx never ends an attempt.
        guard let code = Int(key), (300...999).contains(code), key == String(code) else {
            return reader.fault(key, "", "must be a status code from 300 to 999")
        }
        retryForStatusCodes[code] = retry
    }
}

/// The settings of a dispatcher of kind `http`, beyond those that all kinds have (Behaviour K1).
struct HTTPSettings: Sendable, Equatable {
    /// The complete URL of the destination.
    var endpoint: String
    var method = Method.post
    var format = Format.jsonArray
    /// The `schema` of an envelope.
    var envelopeSchema = "headgate/1"
    /// The attributes of the CloudEvents formats.
    var cloudEvents = CloudEventForm(source: "")
    /// The names and values of headers, in order.
    var headers: [Header] = []
    /// The longest time that a request may take.
    var timeout = Duration.seconds(30)
    /// The longest time that connecting may take.
    var connectTimeout = Duration.seconds(10)
    /// The compression of bodies. At most one of the two is true.
    var gzip = false
    var zstd = false
    var tls = TLS()
    /// A Unix socket to connect to instead of the endpoint's host, or nil.
    var unixSocket: String?
    /// The meaning of the destination's answers.
    var answers = HTTPAnswerPolicy()
    /// True if a request may be sent again when it is unknown whether it arrived (`retry_failed_requests`, Behaviour
    /// D9).
    var isRepeated = true

    enum Method: String, Sendable, CaseIterable {
        case post = "POST"
        case get = "GET"
    }

    enum Format: String, Sendable, CaseIterable {
        case jsonArray = "json_array"
        case ndjson
        case envelope
        case cloudEvents = "cloudevents"
        case singleCloudEvent = "cloudevents_single"

        var isOfCloudEvents: Bool { self == .cloudEvents || self == .singleCloudEvent }

        /// The `Content-Type` of a body.
        var contentType: String {
            switch self {
            case .jsonArray, .envelope: "application/json"
            case .ndjson: "application/x-ndjson"
            case .cloudEvents: "application/cloudevents-batch+json; charset=UTF-8"
            case .singleCloudEvent: "application/cloudevents+json; charset=UTF-8"
            }
        }
    }

    struct Header: Sendable, Equatable {
        var name: String
        var value: HeaderValue
    }

    /// The source of a header's value. All sources except text are secrets (Behaviour X4).
    enum HeaderValue: Sendable, Equatable {
        case text(String)
        /// A file, which is read for each request (``RequestFiles``). The value is the prefix and the contents without
        /// one line end.
        case file(String, prefix: String = "")
        /// An environment variable. The value is the prefix and the variable.
        case environment(String, prefix: String = "")
        /// A member of the output of the dispatcher's board (Behaviour A9). The value is the prefix and the member.
        case output(String, prefix: String)
    }

    /// True if the endpoint's host is this machine. Settings with an invalid endpoint were refused before.
    var isLoopback: Bool {
        (try? Endpoint(endpoint).authority.isLoopback) ?? false
    }

    /// The members of the board's output that headers use.
    var outputs: Set<String> {
        Set(
            headers.compactMap { header in
                if case .output(let name, _) = header.value { name } else { nil }
            })
    }

    struct TLS: Sendable, Equatable {
        var caFile: String?
        var certFile: String?
        var keyFile: String?
    }
}

extension SettingsReader {
    /// Reads an object whose members are HTTP headers, in order.
    func headers() -> [HTTPSettings.Header] {
        var seen: Set<String> = []
        return keys.compactMap { name in
            guard let value = headerValue(name) else { return nil }
            if let complaint = HeaderName.complaint(about: name) { fault(name, "", complaint) }
            if !seen.insert(name.lowercased()).inserted { fault(name, "", "is there twice") }
            return HTTPSettings.Header(name: name, value: value)
        }
    }

    private func headerValue(_ name: String) -> HTTPSettings.HeaderValue? {
        switch item(name) {
        case nil: return nil
        case .string(let text):
            if text.isHeaderText { return .text(text) }
            fault(name, "", SettingsReader.mustBeHeaderText)
        case .object: return referredValue(name)
        default: fault(name, "", SettingsReader.headerKinds)
        }
        return nil
    }

    private static let headerKinds = #"must be a string, {"file": path}, {"env": name} or {"output": name}"#

    private func referredValue(_ name: String) -> HTTPSettings.HeaderValue? {
        var values: [HTTPSettings.HeaderValue] = []
        section(name) { source in
            let prefix = source.headerPrefix()
            if let path = source.readFile("file") { values.append(.file(path, prefix: prefix)) }
            if let variable = source.environmentVariable("env") {
                values.append(.environment(variable, prefix: prefix))
            }
            if let value = source.output(prefix) { values.append(value) }
            let sources = ["file", "env", "output"].count { source.item($0) != nil }
            if sources != 1 { source.fault(SettingsReader.headerKinds) }
        }
        return values.first
    }

    /// Reads the text before a value from another source, like `Bearer `.
    private func headerPrefix() -> String {
        let prefix = string("prefix") ?? ""
        if !prefix.isHeaderText { fault("prefix", "", SettingsReader.mustBeHeaderText) }
        return prefix
    }

    /// Reads the name of a member of the board's output (Behaviour A9).
    private func output(_ prefix: String) -> HTTPSettings.HeaderValue? {
        guard item("output") != nil else { return nil }
        let name = string("output")
        if name == "" { fault("output", "", "must be the name of a member of the board's output") }
        return .output(name ?? "", prefix: prefix)
    }

    private static let mustBeHeaderText = "must be without line ends and other control characters"
}

extension String {
    /// True if the text has only the characters of URIs, in which `%` is followed by two hexadecimal digits (RFC 3986,
    /// 4.1).
    fileprivate var isURIReference: Bool {
        wholeMatch(of: #/(?:[A-Za-z0-9\-._~:\/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+/#) != nil
    }

    fileprivate var isHeaderText: Bool {
        utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

/// The rule for the names of headers.
enum HeaderName {
    /// Headers that would let a wrong value split one request into two.
    private static let ours: Set<String> = ["content-length", "transfer-encoding"]

    /// Returns the fault of a name, or nil if the name is valid.
    static func complaint(about name: String) -> String? {
        if ours.contains(name.lowercased()) { return "is set by the dispatcher itself" }
        if !name.isEmpty, name.utf8.allSatisfy(isAllowed) { return nil }
        return "a header's name has letters, digits, and none of the marks that mean something in HTTP"
    }

    /// Returns true if a header of this name counts as a secret even if its value is in the settings (Behaviour X4).
    static func soundsSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    /// The word `auth` covers `Authorization`.
    private static let secretWords = [
        "auth", "cookie", "credential", "key", "pass", "secret", "session", "signature", "token",
    ]

    /// Returns true for a character of a `token` in RFC 9110.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
