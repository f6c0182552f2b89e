import HeadgateClient
import HeadgateData
import HeadgateServer

@testable import HeadgateTransport

/// Environment variables: the descriptors from a service manager, its notification address and watchdog interval, and
/// the locations of files.
enum VariablesTarget {
    private static let names = [
        "LISTEN_PID", "LISTEN_FDS", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "HEADGATE_SOCKET",
        "XDG_RUNTIME_DIR", "STATE_DIRECTORY", "XDG_STATE_HOME", "HOME",
    ]
    private static let process: Int32 = 7

    /// Each line is the value of a variable, in order. A line that begins with NUL leaves the variable unset.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        var environment: [String: String] = [:]
        for name in names {
            let value = input.text(upTo: "\n")
            if value.utf8.first != 0 { environment[name] = value }
        }
        descriptors(environment)
        notification(environment)
        paths(environment)
        return 0
    }

    private static func descriptors(_ environment: [String: String]) {
        let descriptors = SocketActivation.descriptors(for: process) { environment[$0] }
        precondition(descriptors.count <= 1024 && descriptors.allSatisfy { $0 >= 3 })
        guard !descriptors.isEmpty else { return }
        precondition(Int32(environment["LISTEN_PID"] ?? "") == process)
        precondition(Int(environment["LISTEN_FDS"] ?? "") == descriptors.count)
    }

    private static func notification(_ environment: [String: String]) {
        let wishes = ServiceNotification(for: process) { environment[$0] }
        if let interval = wishes.watchdogInterval { precondition(interval >= .milliseconds(1)) }
        guard let address = wishes.address, let text = environment["NOTIFY_SOCKET"] else { return }
        precondition(address.bytes.dropFirst() == Array(text.utf8).dropFirst())
        address.withSystemAddress { precondition($1 <= 110 && $0.pointee.sa_family == 1) }
    }

    private static func paths(_ environment: [String: String]) {
        let own = SocketPath.default({ environment[$0] }, isThere: { _ in true })
        precondition(!own.isEmpty && (own.hasPrefix("/") || own == environment["HEADGATE_SOCKET"]))
        let paths = try? DaemonPaths.find(
            options: DaemonOptions(), settings: settings, environment: environment, userID: 1000)
        guard let paths else { return }
        precondition(!paths.dataDirectory.isEmpty)
        // Clients must look for the socket where the daemon listens.
        precondition(paths.socket == own, "\(paths) and \(own)")
    }

    private static let settings: DataObject = [:]
}
