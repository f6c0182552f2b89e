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
        stand(call, "watch", params, as: "the watch") { [weak self] in self?.watch(call, $0, tell) }
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
            if error is CancellationError { endWatch(watch?.id, call) }
            tell(.ended(error))
        }
    }

    /// - Parameters:
    ///   - id: nil where the daemon has not answered yet.
    ///   - watch: the call that asked for it.
    private func endWatch(_ id: String?, _ watch: Call) {
        guard let id else {
            farewells.unwanted.insert(watch.number)
            return
        }
        let call = reserve()
        farewells.calls.insert(call)
        let line = ClientConnection.line(call, "unwatch", ["watch": .string(id)])
        begin(call, line, isRepeatable: false, deadline: nil) { [weak self] _ in self?.farewells.calls.remove(call) }
    }

    /// The daemon has answered a call. It may be a watch that was abandoned meanwhile, which nobody else would end.
    func takeUnwanted(_ number: CallNumber, _ result: JSONView) {
        guard farewells.unwanted.remove(number) != nil, let id = result.member("watch")?.string else { return }
        endWatch(id, Call(number: number))
    }

    /// A notification has come: whose is it?
    func takeChange(_ params: JSONView?) {
        guard let params, let id = params.member("watch")?.string else { return }
        watches.first { $0.value.id == id }?.value.tell(.changed(params))
    }
}

/// Watches that were abandoned and that the daemon has still, on the present connection: with that they end in any case, and on the
/// next one their ids may be those of others.
struct WatchFarewells {
    /// Those that the daemon has not answered yet.
    fileprivate var unwanted: Set<CallNumber> = []
    /// What asks the daemon to end one.
    fileprivate(set) var calls: Set<ClientConnection.Call> = []
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
