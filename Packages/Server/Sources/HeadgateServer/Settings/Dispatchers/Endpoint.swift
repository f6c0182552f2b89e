/// An HTTP URL to send to (Behaviour K1).
struct Endpoint: Equatable {
    /// `http` or `https`.
    let scheme: String
    /// What stands before the host: a user and a password. A secret (Behaviour X4).
    let userInfo: String?
    /// The host; an IPv6 address without its brackets.
    let host: String
    /// The port; nil: the scheme's.
    let port: Int?
    /// The whole, scheme and all.
    let text: String

    /// Why a text is no such URL.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// Reads a URL; without a scheme it is one of `https`.
    init(_ text: String) throws(Fault) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Fault(message: "must be a URL without spaces and control characters")
        }
        let (scheme, rest) = Endpoint.split(text)
        guard scheme == "http" || scheme == "https" else {
            throw Fault(message: "must be a URL with http:// or https://")
        }
        let authority = rest.prefix { !"/?#".contains($0) }
        let (userInfo, place) = Endpoint.splitUserInfo(authority)
        let (host, port) = try Endpoint.splitPort(place)
        guard Endpoint.isHost(host, inBrackets: place.hasPrefix("[")) else {
            throw Fault(message: "must be a URL with a host")
        }
        self.scheme = scheme
        self.userInfo = userInfo.map(String.init)
        self.host = String(host)
        self.port = port
        self.text = "\(scheme)://\(rest)"
    }
}

extension Endpoint {
    /// The scheme in lower case, and what stands behind `://`.
    private static func split(_ text: String) -> (scheme: String, rest: Substring) {
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let behind = text[scheme.endIndex...]
        guard behind.hasPrefix("://") else { return ("https", text[...]) }
        return (scheme.lowercased(), behind.dropFirst(3))
    }

    private static func splitUserInfo(_ authority: Substring) -> (userInfo: Substring?, place: Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, authority) }
        return (authority[..<at], authority[authority.index(after: at)...])
    }

    private static func splitPort(_ place: Substring) throws(Fault) -> (host: Substring, port: Int?) {
        if place.hasPrefix("[") {
            let host = place.dropFirst().prefix { $0 != "]" }
            let behind = place[host.endIndex...]
            guard behind.hasPrefix("]") else { throw Fault(message: "has a `[` without its `]`") }
            return (host, try port(behind.dropFirst()))
        }
        let host = place.prefix { $0 != ":" }
        return (host, try port(place[host.endIndex...]))
    }

    /// What `:8080` says; nil for nothing.
    private static func port(_ text: Substring) throws(Fault) -> Int? {
        if text.isEmpty { return nil }
        let digits = text.dropFirst()
        guard text.hasPrefix(":"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(digits), (1...65_535).contains(port)
        else { throw Fault(message: "must have a port from 1 to 65535, or none") }
        return port
    }

    private static func isHost(_ host: Substring, inBrackets: Bool) -> Bool {
        // A name may have letters of any script, which curl turns into ASCII, and an address a zone behind `%`.
        let marks = inBrackets ? ":.%-_" : ".-_~"
        return !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || marks.contains($0) }
    }
}
