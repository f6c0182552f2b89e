import HeadgateCore
import HeadgateData

extension HTTPSettings {
    /// Reads the settings that all kinds of dispatchers over HTTP share.
    init(_ entry: SettingsReader, common: inout DispatcherSettings) {
        entry.require("endpoint")
        self.init(endpoint: entry.endpoint("endpoint")?.text ?? "")
        entry.milliseconds("timeout_ms", into: &timeout)
        entry.milliseconds("connect_timeout_ms", into: &connectTimeout)
        entry.bool("gzip", into: &gzip)
        entry.bool("zstd", into: &zstd)
        if gzip, zstd { entry.fault("zstd", "", "must not be true with gzip") }
        entry.section("tls") { tls.read($0) }
        entry.section("headers", most: Limits.mostHeaders) { headers = $0.headers() }
        unixSocket = entry.socketPath("unix_socket")
        isRepeated = common.retryFailedRequests
        answers.read(entry)
        requireBoard(entry, &common)
    }

    /// Sets the members that the board of the activation barrier must put out for the headers (Behaviour A9). Adds a
    /// fault if there is no such barrier.
    private func requireBoard(_ entry: SettingsReader, _ common: inout DispatcherSettings) {
        guard !outputs.isEmpty else { return }
        if common.activationBarrier == nil {
            entry.fault("headers", "", "use a board's output, so an activation_barrier is required")
        }
        common.activationBarrier?.outputs = outputs
    }

    /// True if the destination is reached over a network.
    var reachesNetwork: Bool { unixSocket == nil && !isLoopback }
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
        guard let retry = reader.value(key, Bool.self, mustBe: "true (retry) or false (dead-letter)") else { return }
        // A 2xx is a delivery before any rule applies, and a 1xx never ends an attempt.
        guard let code = Int(key), (300...999).contains(code), key == String(code) else {
            return reader.fault(key, "", "must be a status code from 300 to 999")
        }
        retryForStatusCodes[code] = retry
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

extension SettingsReader {
    /// Reads an object whose members are HTTP headers, in order.
    func headers() -> [HTTPSettings.Header] {
        var seen: Set<String> = []
        return keys.compactMap { name in
            guard let value = headerValue(name) else { return nil }
            if let problem = HeaderName.problem(about: name) { fault(name, "", problem) }
            if !seen.insert(name.lowercased()).inserted { fault(name, "", "appears twice") }
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
    fileprivate var isHeaderText: Bool {
        utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
