import HeadgateData

extension DispatcherQueue {
    /// Marks the events of a failed batch as pending again. After a 401 the board is run again, and the events are sent
    /// a second time before the 401 counts as a refusal. After any other answer in between, the events may be sent a
    /// second time again (Behaviour A9).
    /// - Parameter hasBoard: true if an activation barrier is configured.
    /// - Returns: the part of the batch to which the verdict applies.
    mutating func takeBack(
        _ flight: BatchesInFlight.Flight, after result: SendResult, hasBoard: Bool
    ) -> (judged: Batch, orders: [DeliveryOrder]) {
        let (batch, sequenceNumbers) = (flight.batch, flight.batch.sequenceNumbers)
        guard hasBoard, let opening = flight.opening, result.isUnauthorized else {
            takeBack(sequenceNumbers) { progress in
                progress.wasUnauthorized = false
                if result.isAnswer { progress.answered() }
            }
            return (batch, [])
        }
        let wereUnauthorized = entries(of: sequenceNumbers).filter(\.progress.wasUnauthorized)
        // An oversize event is sent only once (Behaviour D2).
        let judged = batch.isOversize ? sequenceNumbers : SequenceSet(wereUnauthorized.map(\.sequenceNumber))
        takeBack(sequenceNumbers) { $0.wasUnauthorized = true }
        var part = batch
        part.events.removeAll { !judged.contains($0.sequenceNumber) }
        return (part, [.renewBoard(sentUnder: opening)])
    }

    /// Marks events as pending again, after any answer of the destination except a 401 (Behaviour A9).
    mutating func takeBackAnswered(_ sequenceNumbers: SequenceSet) {
        takeBack(sequenceNumbers) { progress in
            progress.wasUnauthorized = false
            progress.answered()
        }
    }

    /// Marks the events of a failed attempt as pending again, and charges the attempt to them (Behaviour D9).
    /// - Parameters:
    ///   - failedAt: the wall-clock time.
    ///   - answered: the time for which the destination has been answering; nil if the attempt is not charged.
    ///   - keepsLast: true if the last allowed attempt is not charged.
    /// - Returns: the events that have reached the limit of attempts, those that have reached the limit of time, and the
    ///   number of the others.
    mutating func takeBack(
        _ sequenceNumbers: SequenceSet, failedAt: Timestamp, charged answered: Duration?, keepsLast: Bool,
        _ settings: DispatcherSettings
    ) -> (worn: [QueueEntry], old: [QueueEntry], retried: Int) {
        let most = keepsLast ? settings.maxAttempts - 1 : .max
        takeBack(sequenceNumbers) { progress in
            progress.firstFailure = progress.firstFailure ?? failedAt
            guard let answered, progress.attempts < most else { return }
            progress.attempts += 1
            progress.firstCharge = progress.firstCharge ?? answered
        }
        let failed = entries(of: sequenceNumbers)
        guard let answered else { return ([], [], failed.count) }
        let worn = failed.filter { $0.progress.exhaustion(settings, answered: answered) == .maxAttempts }
        let old = failed.filter { $0.progress.exhaustion(settings, answered: answered) == .maxRetryAge }
        return (worn, old, failed.count - worn.count - old.count)
    }
}
