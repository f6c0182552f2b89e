/// The flushes that start by themselves (Behaviour F5), at most one per dispatcher.
///
/// No client waits for such a flush, so it has no timeout: it ends when everything it covers is settled. A new flush
/// replaces the previous one of the same dispatcher and covers all that is left of it. Clients that change their status
/// often, or an unstable network, thus do not accumulate flushes.
final class AutomaticFlushes {
    /// The ids of the running flushes, by dispatcher.
    private var running: [String: String] = [:]

    /// Flushes everything that the dispatchers have queued now.
    func begin(_ dispatchers: [String], of gate: Headgate) {
        for id in dispatchers {
            if let former = running[id] { _ = gate.flushes.cancel(former) }
            let start = gate.flush(dispatchers: [id], timeout: nil) { [weak self] _ in self?.running[id] = nil }
            if case .success(let flush) = start { running[id] = flush }
        }
    }
}
