/// Dead-letters events for one reason, as they were in the queue (Behaviour D10). Pure.
struct DeadLettering {
    let dispatcher: DispatcherNumber
    let reason: DeadLetter.Reason
    let answer: LastAnswer
    let moment: DeliveryMoment

    /// Returns the orders for some events. Events without room for a dead letter stay in the queue, and the dispatcher is held.
    /// - Parameter room: the room for dead letters, from which each dead letter takes its size.
    func orders(for entries: [QueueEntry], in room: inout DeadLetterRoom) -> [DeliveryOrder] {
        let dying = entries.prefix { room.take($0.event.record.count) }
        let held = entries.dropFirst(dying.count).first.map {
            DeliveryOrder.holdForDeadLetters(bytes: $0.event.record.count)
        }
        return putAside(Array(dying)) + (held.map { [$0] } ?? [])
    }

    private func putAside(_ entries: [QueueEntry]) -> [DeliveryOrder] {
        guard !entries.isEmpty else { return [] }
        return [
            .keep(entries.map(deadLetter), cause: answer.cause),
            .settle(SequenceSet(entries.map(\.sequenceNumber)), as: .dead),
        ]
    }

    private func deadLetter(of entry: QueueEntry) -> DeadLetter {
        DeadLetter(
            dispatcher: dispatcher, sequenceNumber: entry.sequenceNumber, reason: reason, status: answer.status,
            answer: answer.text, attempts: entry.progress.attempts,
            firstFailedAt: entry.progress.firstFailure ?? moment.wall, diedAt: moment.wall, record: entry.event.record)
    }
}
