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
        entry.milliseconds("timeout_ms", into: &settings.timeout)
        entry.milliseconds("connect_timeout_ms", into: &settings.connectTimeout)
        return settings
    }

    func reachesNetwork(_ settings: NATSSettings) -> Bool {
        settings.servers.contains { !$0.authority.isLoopback }
    }

    func makeSender(
        of dispatcher: String, _ settings: NATSSettings, in surroundings: SenderSurroundings
    ) throws -> any Sender {
        try NATSSender(settings, loop: surroundings.loop)
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

    /// A stream's name.
    fileprivate func natsStream(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        if let complaint = NATSName.complaint(aboutStream: name) { fault(key, "", complaint) }
        return name
    }
}
