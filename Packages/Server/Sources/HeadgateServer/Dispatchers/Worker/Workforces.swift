import HeadgateCore

/// Who works for which dispatcher (Behaviour K3).
///
/// A subscription lasts as long as its session. While the settings do not have its dispatcher as one of kind `worker`,
/// nothing comes; when they have it again, it goes on.
final class Workforces {
    // The service has both.
    private unowned let gate: Headgate
    private var all: [String: Workforce] = [:]
    private var configured: Set<String> = []

    init(gate: Headgate) {
        self.gate = gate
    }

    /// Those who work, or may work, for a dispatcher.
    func workforce(of dispatcher: String, _ settings: WorkerSettings) -> Workforce {
        if let there = all[dispatcher] { return there }
        let new = Workforce(dispatcher: dispatcher, lease: settings.lease, gate: gate)
        all[dispatcher] = new
        return new
    }

    /// Those who may subscribe to a dispatcher; nil when it is not one of kind `worker` now.
    func open(_ dispatcher: String) -> Workforce? {
        configured.contains(dispatcher) ? all[dispatcher] : nil
    }

    /// Those who work for a dispatcher, or did so before the settings changed.
    func known(_ dispatcher: String) -> Workforce? {
        all[dispatcher]
    }

    /// Other settings are about to be in force.
    func follow(_ dispatchers: [ConfiguredDispatcher]) {
        configured = []
        for dispatcher in dispatchers {
            guard let settings = dispatcher.kind.settings as? WorkerSettings else { continue }
            configured.insert(dispatcher.id)
            let workforce = workforce(of: dispatcher.id, settings)
            workforce.lease = settings.lease
            gate.registerScopedBarrier(
                workforce.barrier, id: "\(WorkerBarrier.kind):\(dispatcher.id)",
                scopes: [.dispatcher(id: dispatcher.id)])
        }
        for (id, workforce) in all where !configured.contains(id) {
            gate.unregisterScopedBarrier(workforce.barrier)
            if workforce.isEmpty { all[id] = nil }
        }
    }

    /// A client has taken all that was sent to it.
    func drained(_ session: Int) {
        for workforce in all.values { workforce.drained(session) }
    }

    /// A client may work for nobody any more. What it has in hand it may finish.
    /// - Returns: whether it worked for anybody.
    func dismiss(_ session: Int) -> Bool {
        all.values.count { $0.unsubscribe(session) {} } > 0
    }

    /// Nothing comes from a client any more: it works for nobody.
    func subscriberLeft(_ session: Int) {
        for workforce in all.values { workforce.left(session) }
    }
}
