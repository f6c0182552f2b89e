import HeadgateData
import HeadgateWire

/// Who a connected client is, as `client.list` and the topic `clients` tell it.
struct SessionIdentity: Equatable {
    let session: String
    /// As it named itself in `hello`.
    let client: String?
    let uid: UInt32
    let pid: Int32

    init(_ session: Session) {
        let peer = session.caller.credentials
        (self.session, client, uid, pid) = (session.name, session.caller.client, peer.uid, peer.pid)
    }

    static let members: [Schema.Member] = [
        .required("session", .name), .required("client", .nullable(.text), "as it named itself"),
        .required("uid", .count), .required("pid", .count),
    ]

    /// Writes its ``members``.
    func write(into writer: inout JSONWriter) {
        writer.member("session", session)
        writer.member("client", item: client.map { .string($0) } ?? .null)
        writer.member("uid", uid)
        writer.member("pid", pid)
    }
}
