/// The address on which the console listens: the loopback interface or a Unix socket, and nothing else (Behaviour O3).
enum ListenAddress: Equatable, Sendable {
    /// A port of an IPv4 loopback address, given as four numbers of which the first is 127.
    case ipv4([UInt8], port: UInt16)
    /// A port of `[::1]`.
    case ipv6(port: UInt16)
    /// The path of a Unix socket.
    case path(String)

    /// The default address.
    static let usual = ListenAddress.ipv4([127, 0, 0, 1], port: 9_477)

    /// The reason why a text is no valid address, as a text for people.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// Reads `HOST:PORT`, `[::1]:PORT`, or a path, which contains a slash.
    init(_ text: String) throws(Fault) {
        if text.contains("/") {
            self = .path(text)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            text[text.index(after: colon)...].allSatisfy(\.isNumber)
        else { throw Fault(message: "\(text) is neither HOST:PORT nor the path of a socket") }
        switch text[..<colon] {
        case "[::1]": self = .ipv6(port: port)
        case "localhost": self = .ipv4([127, 0, 0, 1], port: port)
        case let host:
            guard let numbers = Self.ipv4(host), numbers[0] == 127 else {
                throw Fault(
                    message: "\(text) is not a loopback address: the console listens only on this machine. "
                        + "Use a reverse proxy with TLS, or a tunnel: ssh -L")
            }
            self = .ipv4(numbers, port: port)
        }
    }

    private static func ipv4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.filter { $0.allSatisfy(\.isNumber) && $0.count <= 3 }.compactMap { UInt8($0) }
        return parts.count == 4 && numbers.count == 4 ? numbers : nil
    }

    /// Returns the address with another port: the one that the system chose for port 0.
    func at(port: UInt16) -> ListenAddress {
        switch self {
        case .ipv4(let numbers, _): .ipv4(numbers, port: port)
        case .ipv6: .ipv6(port: port)
        case .path: self
        }
    }

    /// The host in the form of a `Host` header, without the port, or nil for a Unix socket.
    var host: String? {
        switch self {
        case .ipv4(let numbers, _): numbers.map(String.init).joined(separator: ".")
        case .ipv6: "[::1]"
        case .path: nil
        }
    }

    /// The port, or nil for a Unix socket.
    var port: UInt16? {
        switch self {
        case .ipv4(_, let port), .ipv6(let port): port
        case .path: nil
        }
    }

    /// Returns the URL of a path. For a Unix socket it has the form that proxies and curl use.
    func url(_ target: String) -> String {
        guard let host, let port else {
            if case .path(let path) = self { return "http+unix://\(URLText.encoded(path))\(target)" }
            return target
        }
        return "http://\(host):\(port)\(target)"
    }
}
