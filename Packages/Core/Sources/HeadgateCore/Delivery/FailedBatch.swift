extension DispatcherQueue {
    /// Marks the events of a failed batch as pending again. After a 401 the board is run again, and the events are sent
    /// a second time before the 401 counts as a refusal. Any other answer in between allows that again (Behaviour A9).
    /// - Parameter hasBoard: true if an activation barrier is configured.
    /// - Returns: the part of the batch to which the verdict applies.
    mutating func takeBack(
        _ flight: BatchesInFlight.Flight, after result: SendResult, hasBoard: Bool
    ) -> (judged: Batch, orders: [DeliveryOrder]) {
        let (batch, sequenceNumbers) = (flight.batch, flight.batch.sequenceNumbers)
        guard hasBoard, let opening = flight.opening, result.isUnauthorized else {
            takeBack(sequenceNumbers) { progress in
                progress.wasUnauthorized = false
                if result.isAnswer { progress.heard() }
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
}
