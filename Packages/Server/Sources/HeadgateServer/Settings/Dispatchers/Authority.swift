/// The part of a URL that says where to go: `user:password@host:port`.
struct Authority: Equatable {
    /// What stands before the host: a user and a password. A secret (Behaviour X4).
    let userInfo: String?
    /// The host; an IPv6 address without its brackets.
    let host: String
    /// The port; nil: the scheme's.
    let port: Int?

    init(_ text: Substring) throws(Endpoint.Fault) {
        let (userInfo, place) = Authority.splitUserInfo(text)
        let (host, port) = try Authority.splitPort(place)
        guard Authority.isHost(host, inBrackets: place.hasPrefix("[")) else {
            throw Endpoint.Fault(message: "must be a URL with a host")
        }
        self.userInfo = userInfo.map(String.init)
        self.host = String(host)
        self.port = port
    }

    /// Whether the host is this machine itself, and no network leads there (Behaviour B20).
    var isLoopback: Bool {
        HostAddress(host).isLoopback
    }
}

extension Authority {
    private static func splitUserInfo(_ authority: Substring) -> (userInfo: Substring?, place: Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, authority) }
        return (authority[..<at], authority[authority.index(after: at)...])
    }

    private static func splitPort(_ place: Substring) throws(Endpoint.Fault) -> (host: Substring, port: Int?) {
        if place.hasPrefix("[") {
            let host = place.dropFirst().prefix { $0 != "]" }
            let behind = place[host.endIndex...]
            guard behind.hasPrefix("]") else { throw Endpoint.Fault(message: "has a `[` without its `]`") }
            return (host, try port(behind.dropFirst()))
        }
        let host = place.prefix { $0 != ":" }
        return (host, try port(place[host.endIndex...]))
    }

    /// What `:8080` says; nil for nothing.
    private static func port(_ text: Substring) throws(Endpoint.Fault) -> Int? {
        if text.isEmpty { return nil }
        let digits = text.dropFirst()
        guard text.hasPrefix(":"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(digits), (1...65_535).contains(port)
        else { throw Endpoint.Fault(message: "must have a port from 1 to 65535, or none") }
        return port
    }

    private static func isHost(_ host: Substring, inBrackets: Bool) -> Bool {
        // A name may have letters of any script, which curl turns into ASCII, and an address a zone behind `%`.
        let marks = inBrackets ? ":.%-_" : ".-_~"
        return !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || marks.contains($0) }
    }
}
