import HeadgateData

/// Facts about the daemon's socket, as the current user sees it.
struct SocketFacts: Equatable, Sendable {
    /// The kind of file at the path.
    enum FileKind: Equatable, Sendable {
        case socket
        case somethingElse
        case nothing
        /// A directory of the path is missing or may not be entered.
        case unreachable(why: String)
    }

    var path: String
    var fileKind: FileKind
    /// True if the permissions of the file let the user connect.
    var mayConnect = false
    /// The group of the socket's file.
    var group = ""
    var user = ""
}

extension SocketFacts {
    private static let subject = "socket"

    /// The finding about the socket.
    var finding: Finding {
        switch fileKind {
        case .nothing:
            .wrong(
                Self.subject, "no socket at \(path)",
                "start headgated (systemctl start headgate), or give its socket: --socket PATH, $HEADGATE_SOCKET")
        case .somethingElse: .wrong(Self.subject, "\(path) is not a socket", "give the daemon's socket: --socket PATH")
        case .unreachable(let why):
            .wrong(Self.subject, "\(path): \(why)", "give \(user) the permission to enter the socket's directory")
        case .socket where !mayConnect:
            .wrong(
                Self.subject, "\(user) may not connect to \(path)",
                "add the user to its group and log in again: usermod -aG \(group) \(user)")
        case .socket: .fine(Self.subject, "\(user) may connect to \(path)")
        }
    }
}
