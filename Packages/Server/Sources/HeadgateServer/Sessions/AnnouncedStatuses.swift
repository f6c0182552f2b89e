import HeadgateCore
import HeadgateData

/// What clients announce about themselves (Behaviour B26), and the flushes that follow from it (Behaviour F5).
final class AnnouncedStatuses {
    private let gate: Headgate
    /// The flush that a session's last change began, while it is under way.
    private var flushes: [Int: String] = [:]

    init(gate: Headgate) {
        self.gate = gate
    }

    /// Takes note of a client's status. A change of it begins a flush where the settings ask for that.
    func announce(_ status: ApplicationStatus, by session: Int, flushingOn occasions: FlushOccasions) {
        guard gate.clientStatuses.value[session] != status else { return }
        gate.clientStatuses.value[session] = status
        if occasions.include(status) { flush(for: session) }
    }

    /// A client that is gone counts no more; its flush goes on.
    func sessionEnded(_ session: Int) {
        guard gate.clientStatuses.value[session] != nil else { return }
        gate.clientStatuses.value[session] = nil
    }

    /// The new flush covers all that the session's former one did, which nobody waits for: so a client that changes its
    /// status all the time has one flush, not thousands.
    private func flush(for session: Int) {
        if let former = flushes[session] { _ = gate.cancelFlush(former) }
        let start = gate.flush(timeout: FlushMethods.usualTimeout) { [weak self] _ in self?.flushes[session] = nil }
        if case .success(let flush) = start { flushes[session] = flush }
    }
}

extension FlushOccasions {
    fileprivate func include(_ status: ApplicationStatus) -> Bool {
        switch status {
        case .foreground: foreground
        case .background: background
        case .exiting: exiting
        }
    }
}
