import HeadgateCore
import HeadgateData

/// What clients announce about themselves (Behaviour B26), and the flushes that follow from it (Behaviour F5).
final class AnnouncedStatuses {
    private let gate: Headgate

    init(gate: Headgate) {
        self.gate = gate
    }

    /// Takes note of a client's status. A change of it begins a flush where the settings ask for that.
    func announce(_ status: ApplicationStatus, by session: Int, flushingOn occasions: FlushOccasions) {
        guard gate.clientStatuses.value[session] != status else { return }
        gate.clientStatuses.value[session] = status
        if occasions.include(status) { gate.flushAutomatically() }
    }

    /// Forgets the status of a client that is gone. The flush that its status began goes on.
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
