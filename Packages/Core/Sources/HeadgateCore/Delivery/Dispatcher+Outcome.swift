import HeadgateData

extension Dispatcher {
    /// Carries out what Behaviour D3 says of an attempt.
    func finished(_ batch: Batch, with result: SendResult) {
        let verdict = Verdict(
            result, events: batch.events.count, isOversize: batch.isOversize, settings: settings)
        if verdict == .delivered { return delivered(batch) }
        queue.takeBack(batch.sequenceNumbers)
        guard verdict != .keep else { return }
        tally.failed += 1
        lastError = result.cause
        switch verdict {
        case .delivered, .keep: break
        case .halve: halve(batch)
        case .dead(let reason): bury(batch.sequenceNumbers, of: batch, reason, result)
        case .hold(let cause): hold(cause)
        case .retry(let cause, let charged): retry(batch, cause: cause, charged: charged, result)
        }
    }

    private func delivered(_ batch: Batch) {
        lastError = nil
        retries.succeeded()
        limit.succeeded(batch.events.count)
        settle(batch.sequenceNumbers, as: .delivered)
    }

    /// Has both halves of a batch that was too large go again, no attempt charged (Behaviour D6).
    private func halve(_ batch: Batch) {
        limit.halve(batch.events.count)
        halvedThrough = max(halvedThrough, batch.events.last?.sequenceNumber ?? 0)
    }

    private func retry(_ batch: Batch, cause: String, charged: Bool, _ result: SendResult) {
        let worker = surroundings.worker
        queue.takeBack(batch.sequenceNumbers) { entry in
            entry.attempts += charged ? 1 : 0
            entry.firstFailure = entry.firstFailure ?? QueueEntry.Failure(at: worker.now, wall: worker.wall)
        }
        buryOld(batch, result)
        let retried = queue.entries.count { batch.sequenceNumbers.contains($0.sequenceNumber) }
        tally.retried += retried
        surroundings.board.counters.retried += retried
        backOff(cause: cause, retryAfter: result.retryAfter(at: worker.wall))
    }

    /// Closes the BackoffBarrier for a while (Behaviour D4, D5, D8).
    func backOff(cause: String, retryAfter: Duration?) {
        let wait = retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: retryAfter, chance: surroundings.chance())
        lastError = cause
        backoff.close(until: surroundings.worker.now + wait, cause: cause)
    }

    // MARK: Giving up

    /// Gives up the events that have been tried often enough or for long enough (Behaviour D9).
    private func buryOld(_ batch: Batch, _ result: SendResult) {
        let now = surroundings.worker.now
        let sequenceNumbers = batch.sequenceNumbers
        let failed = queue.entries.filter { sequenceNumbers.contains($0.sequenceNumber) }
        let worn = failed.filter { $0.attempts >= settings.maxAttempts }
        bury(Set(worn.map(\.sequenceNumber)), of: batch, .maxAttempts, result)
        let old = failed.filter { entry in
            entry.attempts < settings.maxAttempts
                && entry.firstFailure.map { now - $0.at >= settings.maxRetryAge } ?? false
        }
        bury(Set(old.map(\.sequenceNumber)), of: batch, .maxRetryAge, result)
    }

    /// Puts events of a batch aside as dead letters, as they would have been delivered (Behaviour D10).
    private func bury(
        _ sequenceNumbers: Set<SequenceNumber>, of batch: Batch, _ reason: DeadLetter.Reason, _ result: SendResult
    ) {
        guard !sequenceNumbers.isEmpty else { return }
        let sent = Dictionary(uniqueKeysWithValues: batch.events.map { ($0.sequenceNumber, $0.range) })
        for entry in queue.entries where sequenceNumbers.contains(entry.sequenceNumber) {
            let event = sent[entry.sequenceNumber].map { Array(batch.body[$0]) } ?? []
            surroundings.settlements.add(.deadLetter(letter(for: entry, event, reason, result)))
        }
        settle(sequenceNumbers, as: .dead)
    }

    private func letter(
        for entry: QueueEntry, _ event: [UInt8], _ reason: DeadLetter.Reason, _ result: SendResult
    ) -> DeadLetter {
        let wall = surroundings.worker.wall
        // An attempt that kills its events at once was not counted on them yet.
        let attempts = reason == .maxAttempts || reason == .maxRetryAge ? entry.attempts : entry.attempts + 1
        return DeadLetter(
            dispatcher: queue.number, sequenceNumber: entry.sequenceNumber, reason: reason,
            status: result.refusal?.status, answer: result.refusal?.answer, attempts: attempts,
            firstFailedAt: entry.firstFailure?.wall ?? wall, diedAt: wall, event: event)
    }
}

extension SendResult {
    /// The destination's answer, where there was one.
    var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }

    /// Why the attempt failed, for people.
    var cause: String? {
        switch self {
        case .delivered, .interrupted: nil
        case .noAnswer(let cause): cause
        case .refused(let refusal): "HTTP \(refusal.status)"
        }
    }

    /// How long the destination asked to wait.
    func retryAfter(at wall: Timestamp) -> Duration? {
        refusal?.retryAfter.flatMap { RetryAfter.duration($0, now: wall) }
    }
}
