import HeadgateData

/// A destination of a dispatcher, by the dispatcher's settings.
struct Destination: Equatable, Sendable {
    let dispatcher: String
    /// The URL to connect to.
    var url: String
    var unixSocket: String?
    var caFile: String?
    var certFile: String?
    var keyFile: String?
    /// An empty batch in the destination's format, or nil if the format has none.
    var emptyBatch: EmptyBatch?
    /// True if the destination does not speak HTTP. The URL then only tells libcurl where to connect.
    var isAddress = false

    struct EmptyBatch: Equatable, Sendable {
        var body: String
        var contentType: String
    }

    /// The outcome of a connection test.
    enum Outcome: Equatable, Sendable {
        /// The destination was reached. The status answers an empty batch, or is nil if none was sent.
        case reached(status: Int?)
        case failed(String)
        /// This machine has no libcurl.
        case cannotTry
    }
}

extension Destination {
    /// Returns all destinations that can be tested, in the order of their dispatchers' IDs.
    static func all(in settings: DataObject) -> [Destination] {
        let dispatchers = settings.get(key: "dispatchers", as: DataObject.self) ?? [:]
        return dispatchers.sorted { $0.key < $1.key }.flatMap { id, value -> [Destination] in
            guard let dispatcher = value.get(as: DataObject.self) else { return [] }
            switch dispatcher.get(key: "kind", as: String.self) {
            case "http", "otlp": return http(id, dispatcher).map { [$0] } ?? []
            case "nats": return servers(id, dispatcher, "servers", defaultPort: 4222)
            case "kafka": return servers(id, dispatcher, "brokers", defaultPort: 9092)
            default: return []
            }
        }
    }

    private static func http(_ id: String, _ settings: DataObject) -> Destination? {
        guard let endpoint = settings.get(key: "endpoint", as: String.self) else { return nil }
        var destination = Destination(dispatcher: id, url: endpoint.contains("://") ? endpoint : "https://\(endpoint)")
        destination.unixSocket = settings.get(key: "unix_socket")
        let tls = settings.get(key: "tls", as: DataObject.self) ?? [:]
        destination.caFile = tls.get(key: "ca_file")
        destination.certFile = tls.get(key: "cert_file")
        destination.keyFile = tls.get(key: "key_file")
        // An OpenTelemetry destination is only connected to.
        let takesBatches = settings.get(key: "kind") == "http"
        if takesBatches, settings.get(key: "method", as: String.self) ?? "POST" == "POST" {
            destination.emptyBatch = emptyBatch(settings)
        }
        return destination
    }

    private static func emptyBatch(_ settings: DataObject) -> EmptyBatch? {
        switch settings.get(key: "format", as: String.self) {
        case "ndjson": EmptyBatch(body: "", contentType: "application/x-ndjson")
        case "envelope":
            EmptyBatch(
                body: DataItem.object([
                    "schema": .string(settings.get(key: "envelope_schema") ?? ""), "data": .array([]),
                ]).json, contentType: "application/json")
        case "cloudevents":
            EmptyBatch(body: "[]", contentType: "application/cloudevents-batch+json; charset=UTF-8")
        case "cloudevents_single": nil
        default: EmptyBatch(body: "[]", contentType: "application/json")
        }
    }

    /// Returns the NATS servers or Kafka brokers of a dispatcher. The test only connects to them.
    private static func servers(
        _ id: String, _ settings: DataObject, _ key: String, defaultPort: Int
    ) -> [Destination] {
        let servers: [String] =
            settings.get(key: key) ?? settings.get(key: key, as: String.self).map { [$0] } ?? []
        return servers.map { server in
            let address = server.split(separator: "/").last.map(String.init) ?? server
            let host = address.split(separator: "@").last.map(String.init) ?? address
            // The colons of an IPv6 address are in brackets.
            let hasPort = host[(host.lastIndex(of: "]") ?? host.startIndex)...].contains(":")
            return Destination(
                dispatcher: id, url: "http://" + host + (hasPort ? "" : ":\(defaultPort)"), isAddress: true)
        }
    }

    /// Returns the finding for an outcome.
    func finding(_ outcome: Outcome) -> Finding {
        switch outcome {
        case .reached(nil): return .fine(dispatcher, "\(shownURL) can be reached")
        case .reached(let status?) where 200..<300 ~= status || status == 400 || status == 422:
            return .fine(dispatcher, "\(shownURL) answers an empty batch with \(status)")
        case .reached(let status?) where status == 401 || status == 403:
            return .doubtful(
                dispatcher, "\(shownURL) answers \(status)",
                "the test sent none of the configured headers, which may be required")
        case .reached(let status?):
            return .wrong(
                dispatcher, "\(shownURL) answers an empty batch with \(status)", "check the endpoint")
        case .failed(let why):
            return .wrong(
                dispatcher, "\(shownURL): \(why)",
                "fix the network, DNS or firewall of this machine: the daemon cannot reach the destination either")
        case .cannotTry: return .unknown(dispatcher, "libcurl is missing, so \(shownURL) was not tested")
        }
    }

    /// The URL without user info, which may be a secret, or the address of a destination without HTTP.
    private var shownURL: String {
        if isAddress { return String(url.trimmingPrefix("http://")) }
        guard let start = url.firstRange(of: "://")?.upperBound else { return url }
        let rest = url[start...]
        let authority = rest.prefix { !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") ?? Destination.endOfBrokenSecret(authority, rest) else {
            return url
        }
        return url[..<start] + "***@" + rest[rest.index(after: at)...]
    }

    /// Returns the last `@` of the URL if a password contains a slash, a question mark or a number sign. Such a
    /// password ends the authority too early, so that its port is no number.
    private static func endOfBrokenSecret(_ authority: Substring, _ rest: Substring) -> Substring.Index? {
        let host = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...]
        guard let colon = host.lastIndex(of: ":"), !host[colon...].dropFirst().allSatisfy(\.isNumber) else {
            return nil
        }
        return rest.lastIndex(of: "@")
    }
}
