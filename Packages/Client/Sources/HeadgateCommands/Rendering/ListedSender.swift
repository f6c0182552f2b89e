import HeadgateData

/// The use of the store by one user's namespace, as `client.list` returns it (Behaviour Q4).
struct ListedSender: Equatable {
    /// The user ID, or nil for all users that the daemon does not count one by one.
    let uid: Int?
    /// The namespace as it is stored, or nil for all namespaces that the daemon does not count one by one.
    let namespace: String?
    /// The events that the daemon stored in the last minute.
    let minuteEvents: Int
    /// The pending events, an estimate.
    let pendingEvents: Int

    init(_ entry: DataObject) {
        uid = entry.get(key: "uid")
        namespace = entry.get(key: "namespace")
        minuteEvents = entry.get(key: "minute_events") ?? 0
        pendingEvents = entry.get(key: "pending_events") ?? 0
    }

    /// Reads the member `senders` of the result of `client.list`.
    static func list(in result: DataObject) -> [ListedSender] {
        (result.get(key: "senders", as: [DataObject].self) ?? []).map(ListedSender.init)
    }

    /// The sender as a text for people: `shop of uid 1000`, or `uid 1000` for the user's default namespace.
    var name: String {
        guard let uid else { return "other users" }
        guard let namespace else { return "other namespaces of uid \(uid)" }
        let own = "uid:\(uid)"
        if namespace == own { return "uid \(uid)" }
        let chosen = namespace.utf8.starts(with: "\(own)/".utf8)
        return "\(chosen ? String(namespace.dropFirst(own.count + 1)) : namespace) of uid \(uid)"
    }
}
