import HeadgateCore
import HeadgateData

/// The statuses that clients announce (Behaviour B26), and the flushes that they start (Behaviour F5).
final class AnnouncedStatuses {
    private let gate: Headgate

    init(gate: Headgate) {
        self.gate = gate
    }

    /// Stores a client's status. A change starts a flush if the settings say so.
    func announce(_ status: ApplicationStatus, by session: Int, flushingOn occasions: FlushOccasions) {
        guard gate.clientStatuses.value[session] != status else { return }
        gate.clientStatuses.value[session] = status
        if occasions.include(status) { gate.flushAutomatically() }
    }

    /// Removes the status of a client that has left. A flush that the status started goes on.
    func sessionEnded(_ session: Int) {
        guard gate.clientStatuses.value[session] != nil else { return }
        gate.clientStatuses.value[session] = nil
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
