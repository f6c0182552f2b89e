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
        watches[call.number] = ClientWatch(tell: tell)
        stand(call, "watch", params) { [weak self] in self?.watch(call, $0, tell) }
        return call
    }

    private func watch(_ call: Call, _ news: StandingNews, _ tell: (WatchNews) -> Void) {
        switch news {
        case .granted(let answer):
            guard let id = answer.member("watch")?.string else {
                return end(call, ClientError.badAnswer("a result of watch without its id"))
            }
            watches[call.number]?.id = id
            tell(.began)
        case .interrupted(let error):
            watches[call.number]?.id = nil
            tell(.interrupted(error))
        case .ended(let error):
            let watch = watches.removeValue(forKey: call.number)
            if error is CancellationError { if let id = watch?.id { endWatch(id) } else { unwantedWatches.insert(call.number) } }
            tell(.ended(error))
        }
    }

    /// The answer matters to nobody: the watch ends with the connection, if not before.
    private func endWatch(_ id: String) {
        call("unwatch", ["watch": .string(id)]) { _ in }
    }

    /// The daemon has answered a call. It may be a watch that was abandoned meanwhile, which nobody else would end.
    func takeUnwanted(_ number: CallNumber, _ result: JSONView) {
        guard unwantedWatches.remove(number) != nil, let id = result.member("watch")?.string else { return }
        endWatch(id)
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
    fileprivate var id: String?
    /// The caller, who is told what happens.
    fileprivate let tell: (WatchNews) -> Void
}

/// What a watch tells (Protocol, `watch`; Behaviour B10).
public enum WatchNews {
    /// The daemon watches, for the first time or again. How things stand follows, topic by topic, as changes: what was
    /// known before counts no more.
    case began
    /// The params of a notification `changed`. They are gone after the call: read them, or copy their
    /// `item`.
    case changed(JSONView)
    /// The connection is gone, for this reason. The next one is looked for, on which the watch begins again.
    case interrupted(ClientError)
    /// Nothing more comes: the daemon refused, did not come back in time, or the connection was closed. After
    /// `abandon` it is a `CancellationError`.
    case ended(any Error)
}
