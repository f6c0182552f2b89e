/// By which names browsers may call the console. Others are those of somebody who has his name point here, so that his
/// page may read ours (DNS rebinding).
struct HostRule: Equatable, Sendable {
    private let address: ListenAddress
    private let names: [String]

    /// - Parameters:
    ///   - address: where the console listens, with the real port.
    ///   - names: what else is allowed, with a port or for any.
    init(_ address: ListenAddress, names: [String]) {
        self.address = address
        self.names = names.map { $0.lowercased() }
    }

    /// Whether a `Host` header is one of them. `localhost` is, at any port: that is what the near end of a tunnel is
    /// called.
    func allows(_ host: String) -> Bool {
        let host = host.lowercased()
        let name = Self.withoutPort(host)
        if name == "localhost" || names.contains(name) || names.contains(host) { return true }
        guard let own = address.host, let port = address.port, name == own else { return false }
        return host == own || host == "\(own):\(port)"
    }

    private static func withoutPort(_ host: String) -> String {
        guard let colon = host.lastIndex(of: ":"), host[host.index(after: colon)...].allSatisfy(\.isNumber) else {
            return host
        }
        return String(host[..<colon])
    }
}
