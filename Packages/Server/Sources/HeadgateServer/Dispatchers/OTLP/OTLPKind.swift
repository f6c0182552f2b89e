import HeadgateCore
import HeadgateData

/// The kind of dispatchers that send events as OpenTelemetry log records, over HTTP (Behaviour K7).
struct OTLPKind: DispatcherKind {
    let name = "otlp"

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> OTLPSettings {
        var settings = OTLPSettings(http: HTTPSettings(entry, common: &common))
        settings.http.endpoint = Self.withPath(settings.http.endpoint)
        entry.word("encoding", of: OTLPForm.Encoding.allCases, into: &settings.form.encoding)
        entry.section("resource") { settings.form.mapping.resource = $0.attributes() }
        if let name = entry.string("scope_name") { settings.form.mapping.scopeName = name }
        if let path = entry.string("severity_path") { settings.form.mapping.severity = EventPath(path) }
        if let path = entry.string("body_path") { settings.form.mapping.body = EventPath(path) }
        return settings
    }

    /// Returns an endpoint with OTLP's usual path for logs if it has neither a path nor a query.
    private static func withPath(_ endpoint: String) -> String {
        let isBare = endpoint.wholeMatch(of: #/https?:\/\/[^\/?#]+\/?/#) != nil
        return isBare ? (endpoint.hasSuffix("/") ? "\(endpoint)v1/logs" : "\(endpoint)/v1/logs") : endpoint
    }

    func reachesNetwork(_ settings: OTLPSettings) -> Bool { settings.http.reachesNetwork }

    func makeSender(of dispatcher: String, _ settings: OTLPSettings, in context: SenderContext) throws -> any Sender {
        try HTTPSender(settings.http, as: settings.form, client: context.requireHTTP())
    }
}

/// The settings of a dispatcher of kind `otlp`, beyond those that all kinds have.
struct OTLPSettings: Sendable, Equatable {
    var http: HTTPSettings
    var form = OTLPForm()
}

extension SettingsReader {
    /// Reads an object whose members are attributes of a resource: strings, numbers or Booleans.
    fileprivate func attributes() -> DataObject {
        var attributes = DataObject()
        for name in keys {
            switch item(name) {
            case .string?, .number?, .bool?: attributes[name] = item(name)
            default: fault(name, "", "must be a string, a number, true or false")
            }
        }
        return attributes
    }
}
