import HeadgateCore
import HeadgateData

extension Log {
    /// Logs events that were lost, dropped or dead-lettered (Behaviour O4).
    func tell(_ loss: EventLoss) {
        var members: DataObject = [
            "dispatcher": .string(loss.dispatcher), "events": .number(DataNumber(loss.events)),
        ]
        switch loss.kind {
        case .dead(let reason):
            members["reason"] = .string(reason.rawValue)
            members["cause"] = .string(loss.cause ?? "")
            members["id"] = .string(loss.firstID ?? "")
            tell(.eventsDeadLettered, members)
        case .expired: tell(.eventsExpired, members)
        case .evicted: tell(.eventsEvicted, members)
        case .purged: tell(.eventsPurged, members)
        case .deadLettersDropped: tell(.deadLettersDropped, members)
        case .deadLettersFull:
            tell(
                .deadLettersFull, ["dispatcher": .string(loss.dispatcher), "letters": .number(DataNumber(loss.events))])
        case .duplicates: tell(.eventsDuplicate, members)
        case .rejected:
            members["cause"] = .string(loss.cause ?? "")
            tell(.eventsRejected, members)
        case .quarantined: tell(.eventsQuarantined, members)
        case .queueExpired, .queueEvicted:
            members["reason"] =
                loss.kind == .queueExpired
                ? "its events are older than `store.max_age_s`" : "newer events needed the room"
            tell(.orphanQueueDropped, members)
        }
    }
}

extension Log {
    /// Logs what a start found in the event store: damage, the number of events lost to it (Behaviour Q8), and notes.
    func tell(findingsOf state: StoredState) {
        for warning in state.warnings { tell(.storeRepaired, ["damage": .string(warning)]) }
        if state.quarantined > 0 { tell(.storeDamaged, ["count": .number(DataNumber(state.quarantined))]) }
        for note in state.notes { tell(.storeNoted, ["note": .string(note)]) }
    }
}

/// Counts the events that are refused in a turn, so that many refusals become one line for each reason. It is a class
/// because its owners share it.
final class RefusalCounts {
    private let scheduler: any Scheduler
    private let log: Log
    private var counts: [String: Int] = [:]

    init(scheduler: any Scheduler, log: Log) {
        self.scheduler = scheduler
        self.log = log
    }

    /// Counts refused events.
    func count(_ events: Int, reason: String) {
        guard log.output.isRead else { return }
        if counts.isEmpty { scheduler.atEndOfTurn(.watch) { [weak self] in self?.tell() } }
        counts[reason, default: 0] += events
    }

    private func tell() {
        for (reason, events) in counts.sorted(by: { $0.key < $1.key }) {
            log.tell(.eventsRefused, ["events": .number(DataNumber(events)), "reason": .string(reason)])
        }
        counts = [:]
    }
}
