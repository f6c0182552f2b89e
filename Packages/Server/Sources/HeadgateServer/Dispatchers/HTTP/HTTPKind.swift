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
            entry.fault("headers", "", "use a board's output, so an activation_barrier is required")
        }
        common.activationBarrier?.outputs = settings.outputs
    }

    func reachesNetwork(_ settings: HTTPSettings) -> Bool {
        settings.unixSocket == nil && !settings.isLoopback
    }

    func makeSender(
        of dispatcher: String, _ settings: HTTPSettings, in context: SenderContext
    ) throws -> any Sender {
        try HTTPSender(settings, client: context.requireHTTP())
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
        guard let retry = reader.value(key, Bool.self, mustBe: "true (retry) or false (dead-letter)") else { return }
        // A 2xx is a delivery before any rule applies, and a 1xx never ends an attempt.
        guard let code = Int(key), (300...999).contains(code), key == String(code) else {
            return reader.fault(key, "", "must be a status code from 300 to 999")
        }
        retryForStatusCodes[code] = retry
    }
}

extension String {
    /// True if the text has only the characters of URIs, in which `%` is followed by two hexadecimal digits (RFC 3986,
    /// 4.1).
    fileprivate var isURIReference: Bool {
        wholeMatch(of: #/(?:[A-Za-z0-9\-._~:\/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+/#) != nil
    }

}
