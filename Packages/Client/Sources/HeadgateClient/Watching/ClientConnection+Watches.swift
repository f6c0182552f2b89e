import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Watches the daemon until the call is cancelled, also on later connections.
    /// - Parameters:
    ///   - topics: the topics; nil is all. The daemon refuses an empty array.
    ///   - notify: called on the loop, in order; `ended` comes once and last.
    /// - Returns: the call, for ``cancel(_:)``.
    @discardableResult
    public func watch(_ topics: [WatchTopic]? = nil, _ notify: @escaping (WatchNews) -> Void) -> Call {
        let call = reserve()
        var params: DataObject = [:]
        params["topics"] = topics.map { .array($0.map { .string($0.rawValue) }) }
        watches[call.number] = ClientWatch(notify: notify)
        stand(call, "watch", params, as: "the watch") { [weak self] in self?.watch(call, $0, notify) }
        return call
    }

    private func watch(_ call: Call, _ news: PersistentCallNews, _ notify: (WatchNews) -> Void) {
        switch news {
        case .granted(let answer):
            guard let id = answer.member("watch")?.string else {
                return end(call, ClientError.badAnswer("the result of watch has no id"))
            }
            watches[call.number]?.id = id
            notify(.began)
        case .interrupted(let error):
            watches[call.number]?.id = nil
            notify(.interrupted(error))
        case .ended(let error):
            let watch = watches.removeValue(forKey: call.number)
            if error is CancellationError { endWatch(watch?.id, call) }
            notify(.ended(error))
        }
    }

    /// - Parameters:
    ///   - id: the daemon's id; nil if the daemon has not answered yet.
    ///   - watch: the call of the watch.
    private func endWatch(_ id: String?, _ watch: Call) {
        guard let id else {
            cancelledWatches.unwanted.insert(watch.number)
            return
        }
        let call = reserve()
        cancelledWatches.calls.insert(call)
        let line = ClientConnection.line(call, "unwatch", ["watch": .string(id)])
        begin(call, line, isRepeatable: false, deadline: nil) { [weak self] _ in
            self?.cancelledWatches.calls.remove(call)
        }
    }

    /// Ends a watch whose answer comes after it was cancelled.
    func takeUnwanted(_ number: CallNumber, _ result: JSONView) {
        guard cancelledWatches.unwanted.remove(number) != nil, let id = result.member("watch")?.string else { return }
        endWatch(id, Call(number: number))
    }

    /// Passes a notification to its watch.
    func takeChange(_ params: JSONView?) {
        guard let params, let id = params.member("watch")?.string else { return }
        watches.first { $0.value.id == id }?.value.notify(.changed(params))
    }
}
