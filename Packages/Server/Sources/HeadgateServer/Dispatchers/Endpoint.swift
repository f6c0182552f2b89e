import CCurl
import Glibc

/// The HTTP URL of a destination (Behaviour K1).
struct Endpoint: Equatable {
    /// `http` or `https`.
    let scheme: String
    /// The user, password, host and port. A secret (Behaviour X4).
    let authority: Authority
    /// The complete URL.
    let text: String

    /// The reason why a text is no valid URL.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// Reads a URL. Its default scheme is `https`.
    init(_ text: String) throws(Fault) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Fault(message: "must be a URL without spaces and control characters")
        }
        let (scheme, rest) = Endpoint.split(text)
        guard scheme == "http" || scheme == "https" else {
            throw Fault(message: "must be a URL with http:// or https://")
        }
        let whole = "\(scheme)://\(rest)"
        // A delimiter with a combining accent is another `Character`, so Swift does not find it. libcurl reads bytes,
        // and does.
        guard !whole.contains(where: Endpoint.isAccentedSign) else {
            throw Fault(message: "must be a URL without accents on punctuation")
        }
        authority = try Authority(rest.prefix { !"/?#".contains($0) })
        self.scheme = scheme
        self.text = whole
    }

    private static func isAccentedSign(_ character: Character) -> Bool {
        let scalars = character.unicodeScalars
        return scalars.count > 1 && scalars.first?.isASCII == true && !character.isLetter && !character.isNumber
    }

    /// Returns the scheme in lower case, and the text behind `://`.
    private static func split(_ text: String) -> (scheme: String, rest: Substring) {
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let behind = text[scheme.endIndex...]
        guard behind.hasPrefix("://") else { return ("https", text[...]) }
        return (scheme.lowercased(), behind.dropFirst(3))
    }
}

/// The authority of a URL: `user:password@host:port`.
struct Authority: Equatable {
    /// The user and password. A secret (Behaviour X4).
    let userInfo: String?
    /// The host, which for an IPv6 address has no brackets.
    let host: String
    /// The port, or nil for the scheme's default.
    let port: Int?

    init(_ text: Substring) throws(Endpoint.Fault) {
        let (userInfo, hostAndPort) = Authority.splitUserInfo(text)
        // Libraries disagree on which `@` ends the user's name.
        guard userInfo?.contains("@") != true else {
            throw Endpoint.Fault(message: "must have no `@` in the user's name and password; write it as %40")
        }
        let (host, port) = try Authority.splitPort(hostAndPort)
        guard Authority.isHost(host, inBrackets: hostAndPort.hasPrefix("[")) else {
            throw Endpoint.Fault(message: "must be a URL with a host")
        }
        self.userInfo = userInfo.map(String.init)
        self.host = String(host)
        self.port = port
    }

    /// A Boolean value that says whether the host is this machine, which needs no network (Behaviour B20).
    var isLoopback: Bool {
        HostAddress(host).isLoopback
    }

    private static func splitUserInfo(_ authority: Substring) -> (userInfo: Substring?, hostAndPort: Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, authority) }
        return (authority[..<at], authority[authority.index(after: at)...])
    }

    private static func splitPort(_ hostAndPort: Substring) throws(Endpoint.Fault) -> (host: Substring, port: Int?) {
        if hostAndPort.hasPrefix("[") {
            let host = hostAndPort.dropFirst().prefix { $0 != "]" }
            let behind = hostAndPort[host.endIndex...]
            guard behind.hasPrefix("]") else { throw Endpoint.Fault(message: "has a `[` without its `]`") }
            return (host, try port(behind.dropFirst()))
        }
        let host = hostAndPort.prefix { $0 != ":" }
        return (host, try port(hostAndPort[host.endIndex...]))
    }

    /// Reads a port like `:8080`. Returns nil for an empty text.
    private static func port(_ text: Substring) throws(Endpoint.Fault) -> Int? {
        if text.isEmpty { return nil }
        let digits = text.dropFirst()
        guard text.hasPrefix(":"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(digits), (1...65_535).contains(port)
        else { throw Endpoint.Fault(message: "must have a port from 1 to 65535, or none") }
        return port
    }

    private static func isHost(_ host: Substring, inBrackets: Bool) -> Bool {
        // A name may have letters of any script, which curl encodes, and an address may have a zone after `%`.
        let marks = inBrackets ? ":.%-_" : ".-_~"
        return !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || marks.contains($0) }
    }
}

/// The host of a URL as libcurl reads it. libcurl accepts every spelling of an IPv4 address that `inet_aton` accepts.
private struct HostAddress {
    private let name: String

    /// - Parameter host: an IPv6 address without brackets, or any other host as it is in the URL.
    init(_ host: String) {
        // A dot at the end marks a name as complete, and does not change it.
        let whole = host.hasSuffix(".") ? String(host.dropLast()) : host
        name = HostAddress.normalized(whole).lowercased()
    }

    /// A Boolean value that says whether the host is this machine, which needs no network (Behaviour B20).
    var isLoopback: Bool {
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        if let bytes = HostAddress.bytes(name, AF_INET, 4) { return HostAddress.isLoopbackIPv4(bytes[...]) }
        guard let bytes = HostAddress.bytes(name, AF_INET6, 16) else { return false }
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped
            ? HostAddress.isLoopbackIPv4(bytes[12...]) : bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] <= 1
    }

    /// Returns true for the network 127.0.0.0/8 and for 0.0.0.0, to which the kernel also connects over loopback.
    private static func isLoopbackIPv4(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.first == 127 || bytes.allSatisfy { $0 == 0 }
    }

    /// Returns the host as libcurl's URL parser writes it, or the host itself if the parser refuses it.
    private static func normalized(_ host: String) -> String {
        let url = curl_url()
        defer { curl_url_cleanup(url) }
        let authority = host.contains(":") ? "[\(host)]" : host
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_set(url, CURLUPART_URL, "http://\(authority)/", 0) == CURLUE_OK,
            curl_url_get(url, CURLUPART_HOST, &text, 0) == CURLUE_OK, let text
        else { return host }
        defer { curl_free(text) }
        let parsed = String(cString: text)
        return parsed.hasPrefix("[") ? String(parsed.dropFirst().dropLast()) : parsed
    }

    private static func bytes(_ name: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, name, &bytes) == 1 ? bytes : nil
    }
}
