import HeadgateCore
import HeadgateData
import HeadgateWire

/// The identity of a connected client, as `client.list` and the topic `clients` show it.
struct SessionIdentity: Equatable {
    let session: String
    /// The client's name from `hello`, or nil.
    let client: String?
    let uid: UInt32
    let pid: Int32

    init(_ session: Session) {
        let peer = session.caller.credentials
        (self.session, client, uid, pid) = (session.name, session.caller.client, peer.uid, peer.pid)
    }

    static let members = OutputMembers<Self>.all([
        .required("session", .name, \.session), .required("client", .nullable(.text), \.client, "as it named itself"),
        .required("uid", .count, \.uid), .required("pid", .count, \.pid),
    ])
}

extension Session {
    /// The session's name, which `hello` returns.
    var name: String { "session-\(number)" }

    /// The session as the owner of remote barriers: `shop/2.1 (uid 1000, session-7)`. If the client has no name, the
    /// text begins with its process ID.
    var asOwner: RemoteBarrierOwner {
        let client = caller.client ?? "pid \(caller.credentials.pid)"
        return RemoteBarrierOwner(number: number, name: "\(client) (uid \(caller.credentials.uid), \(name))")
    }
}
