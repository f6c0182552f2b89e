import HeadgateCore

extension Session {
    /// The session's name, which `hello` tells.
    var name: String { "session-\(number)" }

    /// The session as the owner of its barriers: `shop/2.1 (uid 1000, session-7)`, with the process instead of the
    /// client's name when it did not tell one.
    var asOwner: RemoteBarrierOwner {
        let client = caller.client ?? "pid \(caller.credentials.pid)"
        return RemoteBarrierOwner(number: number, name: "\(client) (uid \(caller.credentials.uid), \(name))")
    }
}
