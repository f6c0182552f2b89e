/// What becomes of events that are accepted all or none, found out before any of them has its place: what is there
/// already needs no room, whether it came before or stands before in the same list (Behaviour Q7); the rest has to fit
/// together (Behaviour Q4). Pure.
///
/// A list is held against the ids that are remembered when it comes: those in it push none of them out before its end.
struct AdmissionPlan {
    /// What becomes of one event, in the order of the list.
    struct Entry {
        let admission: Admission
        let fingerprint: DedupeWindow.Fingerprint?
    }

    private(set) var entries: [Entry] = []
    /// What would be stored.
    private(set) var new = Tally.zero
    /// The place that was given last.
    private var last: SequenceNumber
    /// The places of the list's own ids.
    private var places: [DedupeWindow.Fingerprint: SequenceNumber] = [:]

    /// - Parameter last: the place before the first that is free.
    init(after last: SequenceNumber) {
        self.last = last
    }

    /// Takes the next event of the list up.
    /// - Parameters:
    ///   - fingerprint: that of the client's own id; nil when it has none.
    ///   - remembered: the place of an event with this id that came before the list; nil when there is none.
    mutating func add(
        _ event: TrackedEvent, _ fingerprint: DedupeWindow.Fingerprint?, remembered: SequenceNumber?
    ) {
        let first = remembered ?? fingerprint.flatMap { places[$0] }
        entries.append(Entry(admission: admission(of: event, first: first), fingerprint: fingerprint))
        guard case .stored(let number) = entries.last?.admission, let fingerprint else { return }
        places[fingerprint] = number
    }

    private mutating func admission(of event: TrackedEvent, first: SequenceNumber?) -> Admission {
        if let first { return .duplicate(first) }
        guard event.route != RouteTable.nobody else { return .unrouted }
        last += 1
        new += Tally(events: 1, bytes: event.storedByteCount(last))
        return .stored(last)
    }
}

extension DedupeWindow.Fingerprint: Hashable {
    func hash(into hasher: inout Hasher) {
        hasher.combine(first)
    }
}
