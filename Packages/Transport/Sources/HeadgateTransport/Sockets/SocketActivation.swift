import Glibc

/// Listening sockets that a service manager has opened for this process (`LISTEN_FDS`).
public enum SocketActivation {
    /// The descriptors handed over; none if the process was started in another way.
    public static var descriptors: [Int32] {
        descriptors(for: getpid()) { name in getenv(name).map { String(cString: $0) } }
    }

    static func descriptors(for process: Int32, environment: (String) -> String?) -> [Int32] {
        guard environment("LISTEN_PID").flatMap({ Int32($0) }) == process,
            let count = environment("LISTEN_FDS").flatMap({ Int32($0) }), (1...mostDescriptors).contains(count)
        else { return [] }
        return Array(first..<first + count)
    }

    private static let first: Int32 = 3
    private static let mostDescriptors: Int32 = 1024
}
