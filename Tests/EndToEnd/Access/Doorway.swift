import Foundation
import Testing

/// A relay to a daemon's socket in a process of another user. The daemon sees its clients as that user.
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

    /// Returns true if a socket listens at the path, by `/proc/net/unix` (proc(5)). The daemon would count a connection.
    private static func isListening(_ path: String) throws -> Bool {
        // The file has no size, so it is read to its end. Other tests may open a thousand sockets meanwhile.
        let table = "/proc/net/unix"
        guard let file = FileHandle(forReadingAtPath: table) else { throw SystemError("open \(table)") }
        let sockets = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        return sockets.contains { $0.hasSuffix(" " + path) && $0.split(separator: " ")[3] == "00010000" }
    }

    deinit { relay.discard() }

    /// Connects as the relay's user. If the daemon's socket refuses the user, the connection ends at once.
    func connect() async throws -> LineClient {
        try await LineClient(path)
    }

    /// The relay's error output, for example that it may not connect.
    var errorOutput: String { relay.errorOutput }
}

extension Scene {
    /// Creates a relay for a user. From then on every user may enter the scene's folder, as with `/tmp`.
    func doorway(of person: Person, to daemon: Daemon) async throws -> Doorway {
        try openToAll()
        let folder = directory.path("u\(UUID().uuidString.prefix(8))")
        return keep(try await Doorway(of: person, to: daemon, folder: folder))
    }

    /// Lets every user enter the scene's folder.
    func openToAll() throws {
        _ = try SystemError.check(chmod(directory.path, 0o755), "chmod \(directory.path)")
    }
}

/// A user of the machine other than the one running the tests. The user needs no name.
struct Person: Sendable, CustomTestStringConvertible {
    var uid: UInt32
    var gid: UInt32
    /// Supplementary groups.
    var groups: [UInt32] = []

    var testDescription: String { "\(uid):\(gid)\(groups)" }

    /// The command that runs another command as this user (setpriv(1)).
    var launcher: [String] {
        let others = groups.isEmpty ? "--clear-groups" : "--groups=" + groups.map(String.init).joined(separator: ",")
        return ["/usr/bin/setpriv", "--reuid=\(uid)", "--regid=\(gid)", others]
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips tests where the process cannot run programs as another user.
    static var asOtherUsers: Self {
        enabled("only root can run clients as other users (setpriv of util-linux)") {
            geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
        }
    }
}
