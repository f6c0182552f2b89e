import Foundation
import Testing

/// A way to a daemon's socket through a process of another user: who connects here is that user to the daemon.
final class Doorway {
    let path: String
    private let relay: ChildProcess

    fileprivate init(of person: Person, to daemon: Daemon, folder: String) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        _ = try SystemError.check(chown(folder, person.uid, person.gid), "chown \(folder)")
        path = folder + "/door.sock"
        let words =
            person.launcher + [
                "/usr/bin/socat", "UNIX-LISTEN:\(path),fork", "UNIX-CONNECT:\(daemon.socketPath)",
            ]
        relay = try ChildProcess(
            words[0], Array(words.dropFirst()), outputPath: folder + "-output", errorPath: folder + "-errors")
        try await eventually("a doorway for \(person.testDescription)") { [path, relay] in
            guard relay.isRunning else { throw NeverHappened("a doorway", details: relay.errorOutput) }
            return try Self.isListening(path)
        }
    }

    /// Whether somebody listens there, found out without a connection that would count (proc(5), `/proc/net/unix`).
    private static func isListening(_ path: String) throws -> Bool {
        // Read to its end, however long: such a file has no size. Other tests may open a thousand sockets meanwhile.
        let table = "/proc/net/unix"
        guard let file = FileHandle(forReadingAtPath: table) else { throw SystemError("open \(table)") }
        let sockets = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        return sockets.contains { $0.hasSuffix(" " + path) && $0.split(separator: " ")[3] == "00010000" }
    }

    deinit { relay.discard() }

    /// A connection as that user. One that the daemon's socket refuses ends at once.
    func connect() async throws -> LineClient {
        try await LineClient(path)
    }

    /// What the relay says, such as that it may not connect.
    var complaints: String { relay.errorOutput }
}

extension Scene {
    /// A doorway for a user. All may look into the scene's folder from then on, as into `/tmp`.
    func doorway(of person: Person, to daemon: Daemon) async throws -> Doorway {
        try openToAll()
        let folder = directory.path("u\(UUID().uuidString.prefix(8))")
        return keep(try await Doorway(of: person, to: daemon, folder: folder))
    }

    /// Lets all users through to what lies in the scene's folder, as far as its own mode allows.
    func openToAll() throws {
        _ = try SystemError.check(chmod(directory.path, 0o755), "chmod \(directory.path)")
    }
}

/// A user of the machine other than the one who runs the tests; whether it has a name does not matter.
struct Person: Sendable, CustomTestStringConvertible {
    var uid: UInt32
    var gid: UInt32
    /// Supplementary groups.
    var groups: [UInt32] = []

    var testDescription: String { "\(uid):\(gid)\(groups)" }

    /// The command that runs another as this user (setpriv(1)).
    var launcher: [String] {
        let others = groups.isEmpty ? "--clear-groups" : "--groups=" + groups.map(String.init).joined(separator: ",")
        return ["/usr/bin/setpriv", "--reuid=\(uid)", "--regid=\(gid)", others]
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips where nobody can become somebody else.
    static var asOtherUsers: Self {
        enabled("only root can run clients as other users (setpriv of util-linux)") {
            geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
        }
    }
}
