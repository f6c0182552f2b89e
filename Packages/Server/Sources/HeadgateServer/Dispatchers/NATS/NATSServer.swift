/// A NATS server's URL (Behaviour K4).
struct NATSServer: Equatable {
    /// Whether the scheme asks for TLS.
    let isSecure: Bool
    /// Where it is, and the user and password or token for it. A secret (Behaviour X4).
    let authority: Authority
    /// The whole, scheme and all.
    let text: String

    /// Reads a URL; without a scheme it is one of `nats`.
    init(_ text: String) throws(Endpoint.Fault) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Endpoint.Fault(message: "must be a URL without spaces and control characters")
        }
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() } ?? "nats"
        guard scheme == "nats" || scheme == "tls" else {
            throw Endpoint.Fault(message: "must be a URL with nats:// or tls://")
        }
        let place = mark.map { text[$0.upperBound...] } ?? text[...]
        guard !place.contains(where: { "/?#".contains($0) }) else {
            throw Endpoint.Fault(message: "must end with the host or the port")
        }
        isSecure = scheme == "tls"
        authority = try Authority(place)
        if let userInfo = authority.userInfo, PercentEncoding.decode(userInfo).utf8.contains(0) {
            throw Endpoint.Fault(message: "must have no NUL in user and password")
        }
        self.text = "\(scheme)://\(place)"
    }

    /// The URL with user and password as they are: libnats does not undo percent-encoding.
    var decodedText: String {
        guard let userInfo = authority.userInfo, let at = text.lastIndex(of: "@") else { return text }
        return (isSecure ? "tls://" : "nats://") + PercentEncoding.decode(userInfo) + text[at...]
    }
}
