import Glibc

/// An address on which the console listens: the loopback interface or a Unix socket (Behaviour O3). Only the address for
/// metrics may be another one.
enum ListenAddress: Equatable, Sendable {
    /// An IPv4 address, given as four bytes, with a port.
    case ipv4([UInt8], port: UInt16)
    /// An IPv6 address, given as sixteen bytes, with a port.
    case ipv6([UInt8], port: UInt16)
    /// The path of a Unix socket.
    case path(String)

    /// The default address.
    static let `default` = ListenAddress.ipv4([127, 0, 0, 1], port: 9_477)

    /// The reason why a text is no valid address, as a text for people.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// The IPv6 loopback address.
    static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]

    /// Reads `HOST:PORT`, `[::1]:PORT`, or a path, which contains a slash. Refuses addresses that are not loopback.
    init(_ text: String) throws(Fault) {
        try self.init(anywhere: text)
        guard isLocal else {
            throw Fault(
                message: "\(text) is not a loopback address: the console listens only on this machine. "
                    + "Use a reverse proxy with TLS, or a tunnel: ssh -L")
        }
    }

    /// Reads any address of this machine, or a path, which contains a slash.
    init(anywhere text: String) throws(Fault) {
        if text.contains("/") {
            self = .path(text)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            text[text.index(after: colon)...].allSatisfy(\.isNumber)
        else { throw Fault(message: "\(text) is neither HOST:PORT nor the path of a socket") }
        switch text[..<colon] {
        case "localhost": self = .ipv4([127, 0, 0, 1], port: port)
        case let host:
            if let numbers = Self.ipv4(host) {
                self = .ipv4(numbers, port: port)
            } else if let numbers = Self.ipv6(host) {
                self = .ipv6(numbers, port: port)
            } else {
                throw Fault(message: "\(host) is not a numeric address of this machine")
            }
        }
    }

    /// True if only this machine can reach the address.
    var isLocal: Bool {
        switch self {
        case .ipv4(let numbers, _): numbers[0] == 127
        case .ipv6(let numbers, _): numbers == Self.loopback6
        case .path: true
        }
    }

    /// Reads an IPv6 address in brackets.
    private static func ipv6(_ text: Substring) -> [UInt8]? {
        guard text.first == "[", text.last == "]" else { return nil }
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(text.dropFirst().dropLast()), &address) == 1 else { return nil }
        return withUnsafeBytes(of: address) { Array($0) }
    }

    private static func text(ipv6 numbers: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(AF_INET6, numbers, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
        case .ipv6(let numbers, _): .ipv6(numbers, port: port)
        case .path: self
        }
    }

    /// The host in the form of a `Host` header, without the port, or nil for a Unix socket.
    var host: String? {
        switch self {
        case .ipv4(let numbers, _): numbers.map(String.init).joined(separator: ".")
        case .ipv6(let numbers, _): "[\(Self.text(ipv6: numbers))]"
        case .path: nil
        }
    }

    /// The port, or nil for a Unix socket.
    var port: UInt16? {
        switch self {
        case .ipv4(_, let port), .ipv6(_, let port): port
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
