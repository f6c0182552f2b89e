import HeadgateData

extension NATSSettings {
    /// Reads what a dispatcher of kind `nats` has of its own.
    init(_ reader: SettingsReader) {
        reader.require("servers")
        reader.require("subject")
        self.init(servers: reader.natsServers("servers"), subject: reader.natsSubject("subject") ?? "")
        stream = reader.natsStream("stream")
        reader.bool("create_stream", into: &createStream)
        if createStream, reader.item("stream") == nil { reader.fault("stream", "", "is required with create_stream") }
        credentialsFile = reader.filePath("credentials_file")
        reader.section("tls") { section in
            var tls = HTTPSettings.TLS()
            tls.read(section)
            self.tls = tls
        }
        reader.milliseconds("timeout_ms", into: &timeout)
        reader.milliseconds("connect_timeout_ms", into: &connectTimeout)
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
