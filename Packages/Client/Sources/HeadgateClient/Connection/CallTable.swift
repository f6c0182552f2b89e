/// The calls of a ``ConnectionMachine`` that have not ended, with their order, their bytes and their deadlines.
struct CallTable {
    /// A moment at which a call needs something.
    private struct Deadline: Comparable {
        let moment: Int64
        let call: CallNumber

        static func < (left: Deadline, right: Deadline) -> Bool {
            (left.moment, left.call) < (right.moment, right.call)
        }
    }

    /// All calls by their numbers.
    private(set) var calls: [CallNumber: OutgoingCall] = [:]
    /// The bytes of all calls.
    private(set) var heldBytes = 0
    /// The number of calls that are written and not answered, and their bytes.
    private(set) var unanswered = (count: 0, bytes: 0)
    /// The calls to write, in the order of their numbers.
    private var waiting = SortedLine<CallNumber>()
    /// The moments at which the callers stop waiting, with their calls.
    private var deadlines = SortedLine<Deadline>()
    /// The persistent calls to write again on the present connection, by the moment at which each is due.
    private var postponed = SortedLine<Deadline>()

    subscript(number: CallNumber) -> OutgoingCall? { calls[number] }

    /// The numbers of all calls, in the order in which the calls were made.
    var numbers: [CallNumber] { calls.keys.sorted() }

    /// The call that is to be written next; nil if no call waits.
    var firstWaiting: CallNumber? { waiting.first }

    /// The moment at which the first deadline passes or the first postponed call is due; nil for never.
    var nextDeadline: Int64? { [deadlines.first?.moment, postponed.first?.moment].compactMap { $0 }.min() }

    func isWritten(_ number: CallNumber) -> Bool { calls[number]?.isWritten == true }

    /// Adds a call, and queues it to be written.
    mutating func add(_ number: CallNumber, _ call: OutgoingCall) {
        calls[number] = call
        heldBytes += call.line.count
        waiting.insert(number)
        if let deadline = call.deadline { deadlines.insert(Deadline(moment: deadline, call: number)) }
    }

    mutating func remove(_ number: CallNumber) {
        guard let call = calls.removeValue(forKey: number) else { return }
        heldBytes -= call.line.count
        if let deadline = call.deadline { deadlines.remove(Deadline(moment: deadline, call: number)) }
        if call.isPersistent { postponed.removeAll { $0.call == number } }
        guard call.isWritten else { return waiting.remove(number) }
        unanswered.count -= 1
        unanswered.bytes -= call.line.count
    }

    /// Replaces the lines of a persistent call.
    mutating func replace(_ number: CallNumber, with lines: [UInt8]) {
        guard let before = calls[number]?.line.count else { return }
        calls[number]?.replace(with: lines)
        heldBytes += lines.count - before
        if isWritten(number) { unanswered.bytes += lines.count - before }
    }

    /// Marks a call as written, and removes it from the calls to write.
    mutating func markWritten(_ number: CallNumber) {
        guard let call = calls[number] else { return }
        waiting.remove(number)
        calls[number]?.written()
        unanswered.count += 1
        unanswered.bytes += call.line.count
    }

    /// Marks a call as not written, or as one whose answer has come.
    mutating func unmarkWritten(_ number: CallNumber) {
        guard let call = calls[number], call.isWritten else { return }
        calls[number]?.unwritten()
        unanswered.count -= 1
        unanswered.bytes -= call.line.count
    }

    /// Queues a call to be written.
    mutating func queue(_ number: CallNumber) { waiting.insert(number) }

    /// Schedules a persistent call to be written at a moment.
    mutating func postpone(_ number: CallNumber, until moment: Int64) {
        postponed.insert(Deadline(moment: moment, call: number))
    }

    /// Queues all postponed calls whose moment has come.
    mutating func queuePostponed(at now: Int64) {
        while let again = postponed.first, again.moment <= now {
            postponed.removeFirst()
            waiting.insert(again.call)
        }
    }

    /// Returns a call whose deadline has passed; nil if there is none.
    func firstLate(at now: Int64) -> CallNumber? {
        deadlines.first.flatMap { $0.moment <= now ? $0.call : nil }
    }

    /// Queues all calls again, in the order of their numbers, after the loss of the connection.
    mutating func queueAll() {
        let numbers = self.numbers
        for number in numbers { unmarkWritten(number) }
        waiting = SortedLine(sorted: numbers)
        postponed = SortedLine()
    }
}

// MARK: Persistent calls

extension CallTable {
    /// Notes that the daemon granted a persistent call, and drops the call's deadline, which was for the first grant.
    mutating func noteGranted(_ number: CallNumber) {
        if let deadline = calls[number]?.deadline { deadlines.remove(Deadline(moment: deadline, call: number)) }
        calls[number]?.granted()
    }

    /// Notes that the daemon refused a persistent call, which the client makes again.
    mutating func noteRefused(_ number: CallNumber, isConflict: Bool) {
        calls[number]?.refused(isConflict: isConflict)
    }

    /// Notes that a grant no longer counts: its connection is lost, or the daemon may have replaced what it granted.
    mutating func noteInterrupted(_ number: CallNumber) {
        calls[number]?.lostGrant()
    }
}
