import HeadgateCore
import HeadgateData

extension HTTPSettings {
    /// Reads what a dispatcher of kind `http` has of its own, and what HTTP adds to what all have.
    init(_ reader: SettingsReader, common: inout DispatcherSettings) {
        reader.require("endpoint")
        self.init(endpoint: reader.endpoint("endpoint")?.text ?? "")
        reader.word("method", of: Method.allCases, into: &method)
        reader.word("format", of: Format.allCases, into: &format)
        envelopeSchema = reader.string("envelope_schema") ?? envelopeSchema
        reader.section("headers", most: Limits.mostHeaders) { headers = $0.headers() }
        reader.milliseconds("timeout_ms", into: &timeout)
        reader.milliseconds("connect_timeout_ms", into: &connectTimeout)
        reader.bool("gzip", into: &gzip)
        reader.section("tls") { tls.read($0) }
        unixSocket = reader.socketPath("unix_socket")
        isRepeated = common.retryFailedRequests
        common.readAnswers(reader)
    }
}

extension HTTPSettings.TLS {
    mutating func read(_ reader: SettingsReader) {
        caFile = reader.filePath("ca_file")
        certFile = reader.filePath("cert_file")
        keyFile = reader.filePath("key_file")
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
