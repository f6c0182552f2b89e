/// The flushes that begin by themselves (Behaviour F5), at most one per dispatcher.
///
/// Nobody waits for such a flush, so it has no timeout: it ends when everything it covers is settled. A new one replaces the
/// former one of the same dispatcher, because it covers all that is left of that. Clients that change their status all the
/// time, or a network that comes and goes, therefore add no flushes.
final class AutomaticFlushes {
    /// The ids of the flushes under way, by dispatcher.
    private var underWay: [String: String] = [:]

    /// Flushes everything that these dispatchers have queued now.
    func begin(_ dispatchers: [String], of gate: Headgate) {
        for id in dispatchers {
            if let former = underWay[id] { _ = gate.cancelFlush(former) }
            let start = gate.flush(dispatchers: [id], timeout: nil) { [weak self] _ in self?.underWay[id] = nil }
            if case .success(let flush) = start { underWay[id] = flush }
        }
    }
}
