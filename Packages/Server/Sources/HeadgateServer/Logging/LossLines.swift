import HeadgateCore
import HeadgateData

extension Log {
    /// Logs events that were lost, dropped or dead-lettered (Behaviour O4).
    func write(_ loss: EventLoss) {
        var members: DataObject = [
            "dispatcher": .string(loss.dispatcher), "events": .number(DataNumber(loss.events)),
        ]
        switch loss.kind {
        case .dead(let reason):
            members["reason"] = .string(reason.rawValue)
            members["cause"] = .string(loss.cause ?? "")
            members["id"] = .string(loss.firstID ?? "")
            write(.eventsDeadLettered, members)
        case .expired: write(.eventsExpired, members)
        case .evicted: write(.eventsEvicted, members)
        case .purged: write(.eventsPurged, members)
        case .deadLettersDropped: write(.deadLettersDropped, members)
        case .deadLettersFull:
            write(
                .deadLettersFull, ["dispatcher": .string(loss.dispatcher), "letters": .number(DataNumber(loss.events))])
        case .duplicates: write(.eventsDuplicate, members)
        case .rejected:
            members["cause"] = .string(loss.cause ?? "")
            write(.eventsRejected, members)
        case .quarantined: write(.eventsQuarantined, members)
        case .queueExpired, .queueEvicted:
            members["reason"] =
                loss.kind == .queueExpired
                ? "it was removed longer ago than `store.orphan_retention_s`" : "newer events needed the room"
            write(.orphanQueueDropped, members)
        }
    }
}

extension Log {
    /// Logs what a start found in the event store: damage, the number of events lost to it (Behaviour Q8), and notes.
    func write(findingsOf state: StoredState) {
        for warning in state.warnings { write(.storeRepaired, ["damage": .string(warning)]) }
        if state.quarantined > 0 { write(.storeDamaged, ["count": .number(DataNumber(state.quarantined))]) }
        for note in state.notes { write(.storeNoted, ["note": .string(note)]) }
    }
}

/// The counts of the events that are refused in one turn of the event loop, so that many refusals become one line for
/// each reason. This is a class because its owners share it.
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
        if counts.isEmpty { scheduler.atEndOfTurn(.watch) { [weak self] in self?.write() } }
        counts[reason, default: 0] += events
    }

    private func write() {
        for (reason, events) in counts.sorted(by: { $0.key < $1.key }) {
            log.write(.eventsRefused, ["events": .number(DataNumber(events)), "reason": .string(reason)])
        }
        counts = [:]
    }
}
