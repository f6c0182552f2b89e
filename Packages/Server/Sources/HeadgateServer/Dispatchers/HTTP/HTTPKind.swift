import HeadgateCore
import HeadgateData

/// Dispatchers that send to an HTTP server (Behaviour K1).
struct HTTPKind: DispatcherKind {
    let name = "http"

    /// Reads what the kind has of its own, and what HTTP adds to what all have.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> HTTPSettings {
        entry.require("endpoint")
        var settings = HTTPSettings(endpoint: entry.endpoint("endpoint")?.text ?? "")
        entry.word("method", of: HTTPSettings.Method.allCases, into: &settings.method)
        entry.word("format", of: HTTPSettings.Format.allCases, into: &settings.format)
        settings.envelopeSchema = entry.string("envelope_schema") ?? settings.envelopeSchema
        entry.milliseconds("timeout_ms", into: &settings.timeout)
        entry.milliseconds("connect_timeout_ms", into: &settings.connectTimeout)
        entry.bool("gzip", into: &settings.gzip)
        entry.section("tls") { settings.tls.read($0) }
        entry.section("headers", most: Limits.mostHeaders) { settings.headers = $0.headers() }
        settings.unixSocket = entry.socketPath("unix_socket")
        settings.isRepeated = common.retryFailedRequests
        settings.answers.read(entry)
        requireBoard(for: settings, entry, &common)
        return settings
    }

    /// What its headers take from the board before the dispatcher, that board has to put out (Behaviour A9).
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
        of dispatcher: String, _ settings: HTTPSettings, in surroundings: SenderSurroundings
    ) throws -> any Sender {
        try HTTPSender(settings, client: surroundings.http)
    }
}

extension HTTPSettings {
    /// Whether the endpoint's host is this machine. An endpoint that is no URL was refused with the settings.
    var isLoopback: Bool {
        (try? Endpoint(endpoint).authority.isLoopback) ?? false
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
    /// An HTTP URL.
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
    /// Reads what decides about HTTP's answers (Behaviour D3, D7).
    fileprivate mutating func read(_ reader: SettingsReader) {
        reader.word("on_unauthorized", of: [.dead, .pause], into: &onUnauthorized)
        reader.section("retry_for_status_codes") { codes in
            for key in codes.keys { readStatusCode(key, codes) }
        }
    }

    private mutating func readStatusCode(_ key: String, _ reader: SettingsReader) {
        guard let retry = reader.value(key, Bool.self, mustBe: "true (retry) or false (give up)") else { return }
        // 2xx is delivered before any rule is asked, and 1xx never ends an attempt.
        guard let code = Int(key), (300...999).contains(code), key == String(code) else {
            return reader.fault(key, "", "must be a status code from 300 to 999")
        }
        retryForStatusCodes[code] = retry
    }
}
