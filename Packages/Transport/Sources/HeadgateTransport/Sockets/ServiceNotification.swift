import Glibc

/// What a service manager wants to be told by the process that it started, as it says in the environment (sd_notify(3),
/// sd_watchdog_enabled(3)).
public struct ServiceNotification: Equatable, Sendable {
    /// Where it hears; nil where it does not want to be told.
    public let address: NotifyAddress?
    /// How often it wants to hear that the process is alive; nil where it does not. Twice as often as it asks for, so that
    /// one may come late.
    public let watchdogInterval: Duration?

    /// - Parameters:
    ///   - process: this process.
    ///   - environment: the value of a variable.
    public init(for process: Int32, environment: (String) -> String?) {
        address = environment("NOTIFY_SOCKET").flatMap(NotifyAddress.init)
        let isMeant = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let patience = isMeant ? environment("WATCHDOG_USEC").flatMap { Int64($0) } : nil
        watchdogInterval = patience.flatMap { patience in
            // An interval of nothing would keep the loop busy with this alone.
            patience > 0 ? max(.microseconds(patience / 2), .milliseconds(1)) : nil
        }
    }
}

/// The address of a socket in `NOTIFY_SOCKET`: a path, or an abstract name, which is written with `@` in front.
public struct NotifyAddress: Equatable, Sendable {
    /// As the kernel wants it, without a NUL behind it.
    let bytes: [UInt8]

    /// The most bytes that the kernel takes, with a NUL behind a path.
    static let longest = 107

    /// Nil where the text is neither.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, bytes.count <= NotifyAddress.longest, !bytes.contains(0) else { return nil }
        switch first {
        case UInt8(ascii: "/"): self.bytes = bytes
        case UInt8(ascii: "@"): self.bytes = [0] + bytes.dropFirst()
        default: return nil
        }
    }

    /// Shows the address as the system's calls want it.
    public func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }
}
