import Glibc

/// The requests of a service manager to the process that it has started, from the environment (sd_notify(3),
/// sd_watchdog_enabled(3)).
public struct ServiceNotification: Equatable, Sendable {
    /// The address for notifications; nil if the manager requests none.
    public let address: NotifyAddress?
    /// The interval of watchdog messages; nil if the manager requests none. It is half of the requested time, so that
    /// one message may be late.
    public let watchdogInterval: Duration?

    /// Reads the requests from the environment.
    /// - Parameters:
    ///   - process: the id of this process.
    ///   - environment: returns the value of a variable.
    public init(for process: Int32, environment: (String) -> String?) {
        address = environment("NOTIFY_SOCKET").flatMap(NotifyAddress.init)
        let isForThisProcess = environment("WATCHDOG_PID").map { Int32($0) == process } ?? true
        let timeLimit = isForThisProcess ? environment("WATCHDOG_USEC").flatMap { Int64($0) } : nil
        watchdogInterval = timeLimit.flatMap { timeLimit in
            // An interval of zero would keep the loop busy with this timer alone.
            timeLimit > 0 ? max(.microseconds(timeLimit / 2), .milliseconds(1)) : nil
        }
    }
}

/// The address in `NOTIFY_SOCKET`: a path, or an abstract name that begins with `@`.
public struct NotifyAddress: Equatable, Sendable {
    /// The address in the kernel's form, without a trailing NUL.
    let bytes: [UInt8]

    /// The longest address in bytes: the kernel's 108 with the NUL of a path.
    static let longest = 107

    /// Creates an address; nil if the text is neither a path nor an abstract name.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, bytes.count <= NotifyAddress.longest, !bytes.contains(0) else { return nil }
        switch first {
        case UInt8(ascii: "/"): self.bytes = bytes
        case UInt8(ascii: "@"): self.bytes = [0] + bytes.dropFirst()
        default: return nil
        }
    }

    /// Calls `body` with the address in the form for system calls.
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
