import HeadgateData

/// Where the daemon listens, as the user who asks sees it.
struct SocketFacts: Equatable, Sendable {
    /// What is at the path.
    enum Place: Equatable, Sendable {
        case socket
        case somethingElse
        case nothing
        /// A directory on the way may not be entered, or is not there.
        case unreachable(why: String)
    }

    var path: String
    var place: Place
    /// Whether the user may connect, as far as the file says.
    var mayConnect = false
    /// The group that the socket belongs to.
    var group = ""
    var user = ""
}

extension SocketFacts {
    private static let subject = "socket"

    /// How it is with the socket.
    var finding: Finding {
        switch place {
        case .nothing:
            .wrong(
                Self.subject, "there is none at \(path)",
                "start headgated (systemctl start headgate), or name its socket: --socket PATH, $HEADGATE_SOCKET")
        case .somethingElse: .wrong(Self.subject, "\(path) is no socket", "name the daemon's socket: --socket PATH")
        case .unreachable(let why): .wrong(Self.subject, "\(path): \(why)", "have its directory opened to \(user)")
        case .socket where !mayConnect:
            .wrong(
                Self.subject, "\(user) may not connect to \(path)",
                "add the user to its group and log in again: usermod -aG \(group) \(user)")
        case .socket: .fine(Self.subject, "\(user) may connect to \(path)")
        }
    }
}
