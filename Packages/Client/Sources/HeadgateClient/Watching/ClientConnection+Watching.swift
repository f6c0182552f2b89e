import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Watches what happens in the daemon until the call is abandoned. When the connection is lost it is made again,
    /// and the watch with it.
    /// - Parameters:
    ///   - topics: what to watch; nil is all there is, none is refused by the daemon.
    ///   - tell: told on the loop, in order; `ended` comes once and last.
    /// - Returns: the call, for ``abandon(_:)``.
    @discardableResult
    public func watch(_ topics: [WatchTopic]? = nil, _ tell: @escaping (WatchNews) -> Void) -> Call {
        let call = reserve()
        var params: DataObject = [:]
        params["topics"] = topics.map { .array($0.map { .string($0.rawValue) }) }
        begin(call, watching: params, tell)
        return call
    }

    /// A notification has come: whose is it?
    func takeChange(_ params: JSONView?) {
        guard let params, let id = params.member("watch")?.string else { return }
        watches.first { $0.value.id == id }?.value.tell(.changed(params))
    }
}

/// A watch of this side.
struct ClientWatch {
    /// The daemon's id for it on the present connection; nil while it does not watch.
    var id: String?
    /// Whom to tell.
    let tell: (WatchNews) -> Void
}
