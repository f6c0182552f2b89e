/// The host names by which browsers may reach the console. An attacker could let any other name resolve to this
/// machine. The attacker's page could then read the console (DNS rebinding).
struct HostRule: Equatable, Sendable {
    private let address: ListenAddress
    private let names: [String]

    /// - Parameters:
    ///   - address: the address on which the console listens, with the real port.
    ///   - names: further allowed names, each with a port or for any port.
    init(_ address: ListenAddress, names: [String]) {
        self.address = address
        self.names = names.map { $0.lowercased() }
    }

    /// Returns true if a `Host` header is allowed. `localhost` is allowed with any port, because the user's end of an
    /// SSH tunnel may have another port.
    func allows(_ host: String) -> Bool {
        let lower = host.lowercased()
        return isOwn(lower) || names.contains(Self.withoutPort(lower)) || names.contains(lower)
    }

    /// Returns true if a `Host` header is the console's own address or `localhost`, and not the name of a proxy.
    func isOwn(_ host: String) -> Bool {
        let host = host.lowercased()
        let name = Self.withoutPort(host)
        if name == "localhost" { return true }
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
