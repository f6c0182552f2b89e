/// Where the console listens: on loopback, or on a Unix socket, and nowhere else (Behaviour O3).
enum ListenAddress: Equatable, Sendable {
    /// A port of an IPv4 address of loopback; the address has four numbers, 127 being the first.
    case ipv4([UInt8], port: UInt16)
    /// A port of `[::1]`.
    case ipv6(port: UInt16)
    /// A Unix socket.
    case path(String)

    /// Where it listens unless told otherwise.
    static let usual = ListenAddress.ipv4([127, 0, 0, 1], port: 9_477)

    /// Why a text is no address to listen on; for people.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// Reads `HOST:PORT`, `[::1]:PORT` or a path, which has a slash in it.
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
                    message: "\(text) is not loopback: the console shows itself to this machine alone. "
                        + "Put a server with TLS before it, or go there through ssh -L")
            }
            self = .ipv4(numbers, port: port)
        }
    }

    private static func ipv4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.filter { $0.allSatisfy(\.isNumber) && $0.count <= 3 }.compactMap { UInt8($0) }
        return parts.count == 4 && numbers.count == 4 ? numbers : nil
    }

    /// The same address at another port: the one that the system chose for port 0.
    func at(port: UInt16) -> ListenAddress {
        switch self {
        case .ipv4(let numbers, _): .ipv4(numbers, port: port)
        case .ipv6: .ipv6(port: port)
        case .path: self
        }
    }

    /// The host as a `Host` header has it, without the port; nil for a Unix socket, which has none.
    var host: String? {
        switch self {
        case .ipv4(let numbers, _): numbers.map(String.init).joined(separator: ".")
        case .ipv6: "[::1]"
        case .path: nil
        }
    }

    /// The port; nil for a Unix socket.
    var port: UInt16? {
        switch self {
        case .ipv4(_, let port), .ipv6(let port): port
        case .path: nil
        }
    }

    /// The address of a page: with a Unix socket as a proxy's configuration and curl would write it.
    func url(_ target: String) -> String {
        guard let host, let port else {
            if case .path(let path) = self { return "http+unix://\(URLText.encoded(path))\(target)" }
            return target
        }
        return "http://\(host):\(port)\(target)"
    }
}
