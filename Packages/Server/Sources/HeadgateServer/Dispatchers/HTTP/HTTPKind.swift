import HeadgateCore
import HeadgateData

/// The kind of dispatchers that send to an HTTP server (Behaviour K1).
struct HTTPKind: DispatcherKind {
    let name = "http"

    /// Reads the kind's own settings.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> HTTPDispatcherSettings {
        var settings = HTTPDispatcherSettings(http: HTTPSettings(entry, common: &common))
        entry.word("method", of: HTTPSettings.Method.allCases, into: &settings.form.method)
        entry.word("format", of: EventForm.Format.allCases, into: &settings.form.format)
        settings.form.envelopeSchema = entry.string("envelope_schema") ?? settings.form.envelopeSchema
        readCloudEvents(entry, &settings.form)
        return settings
    }

    private func readCloudEvents(_ entry: SettingsReader, _ form: inout EventForm) {
        let (source, prefix) = (entry.string("cloudevents_source"), entry.string("cloudevents_type_prefix"))
        form.cloudEvents = CloudEventForm(source: source ?? "", typePrefix: prefix ?? "")
        if let source, !source.isURIReference {
            entry.fault("cloudevents_source", "", "must be a URI reference, like urn:shop:till-1 or /shop/till-1")
        }
        if let prefix, !prefix.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            entry.fault("cloudevents_type_prefix", "", "must be visible ASCII, like com.example.")
        }
        guard form.format.isOfCloudEvents else { return }
        if entry.item("cloudevents_source") == nil {
            entry.fault("cloudevents_source", "", "is required with the format \(form.format.rawValue)")
        }
        if form.method == .get { entry.fault("format", "", "\(form.format.rawValue) needs the method POST") }
    }

    func reachesNetwork(_ settings: HTTPDispatcherSettings) -> Bool { settings.http.reachesNetwork }

    func makeSender(
        of dispatcher: String, _ settings: HTTPDispatcherSettings, in context: SenderContext
    ) throws -> any Sender {
        try HTTPSender(settings.http, as: settings.form, client: context.requireHTTP())
    }
}

/// The settings of a dispatcher of kind `http`, beyond those that all kinds have.
struct HTTPDispatcherSettings: Sendable, Equatable {
    var http: HTTPSettings
    var form = EventForm()
}

extension String {
    /// True if the text has only the characters of URIs, in which `%` is followed by two hexadecimal digits (RFC 3986,
    /// 4.1).
    fileprivate var isURIReference: Bool {
        wholeMatch(of: #/(?:[A-Za-z0-9\-._~:\/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+/#) != nil
    }

}
