import HeadgateData

extension Dispatcher {
    /// Carries out what Behaviour D3 says of an attempt.
    /// - Parameter generation: the opening of the ActivationGate under which it was sent.
    func finished(_ batch: Batch, sentUnder generation: Int?, with result: SendResult) {
        let now = surroundings.worker.now
        if result.isAnswer { answerClock.heard(from: batch.sentAt, to: now) }
        if case .each(let outcomes) = result { return finished(batch, each: outcomes) }
        let verdict = Verdict(
            result, events: batch.events.count, isOversize: batch.isOversize, settings: settings)
        if verdict == .delivered { return delivered(batch) }
        let judged = takeBack(batch, sentUnder: generation, after: result)
        guard verdict != .keep else { return }
        tally.failed += 1
        lastError = result.cause
        guard !judged.events.isEmpty else { return }
        switch verdict {
        case .delivered, .keep: break
        case .halve: halve(batch)
        case .dead(let reason): bury(judged, reason, LastAnswer(result))
        case .hold(let cause): hold(cause)
        case .retry(let cause, let charged): retry(batch, cause: cause, charged: charged, result)
        }
    }

    /// A batch, or what was taken of it.
    func delivered(_ batch: Batch) {
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
        sendAgain(batch, charged: charged, LastAnswer(result))
        backOff(cause: cause, retryAfter: result.retryAfter, isAnswered: result.isAnswer)
    }

    /// Has events go once more, but for those that have been tried enough (Behaviour D9).
    func sendAgain(_ batch: Batch, charged: Bool, _ answer: LastAnswer) {
        let worker = surroundings.worker
        let heard = answerClock.time(at: worker.now)
        queue.takeBack(batch.sequenceNumbers) { entry in
            entry.firstFailure = entry.firstFailure ?? worker.wall
            guard charged else { return }
            entry.attempts += 1
            entry.firstCharge = entry.firstCharge ?? heard
        }
        if charged { buryOld(batch, answer, heard) }
        let retried = queue.entries(of: batch.sequenceNumbers).count
        tally.retried += retried
        surroundings.board.counters.retried += retried
    }

    /// Closes the BackoffBarrier for a while (Behaviour D4, D5, D8).
    /// - Parameter isAnswered: whether it is the destination's answer that makes it wait.
    func backOff(cause: String, retryAfter: Duration?, isAnswered: Bool = false) {
        let wait = retries.failed(
            base: settings.backoffBase, cap: settings.backoffCap, retryAfter: retryAfter, chance: surroundings.chance())
        lastError = cause
        let now = surroundings.worker.now
        backoff.close(until: now + wait, cause: cause)
        if isAnswered { answerClock.heard(from: now, to: now + wait) }
    }

    // MARK: Giving up

    /// Gives up the events that have been tried often enough or for long enough (Behaviour D9).
    /// - Parameter heard: for how long the destination has been heard.
    private func buryOld(_ batch: Batch, _ answer: LastAnswer, _ heard: Duration) {
        let failed = queue.entries(of: batch.sequenceNumbers)
        let worn = failed.filter { $0.attempts >= settings.maxAttempts }
        bury(worn, .maxAttempts, answer)
        let old = failed.filter { entry in
            entry.attempts < settings.maxAttempts
                && entry.firstCharge.map { heard - $0 >= settings.maxRetryAge } ?? false
        }
        bury(old, .maxRetryAge, answer)
    }

    /// Gives up the events of a batch after the attempt that killed them.
    func bury(_ batch: Batch, _ reason: DeadLetter.Reason, _ answer: LastAnswer) {
        let sequenceNumbers = batch.sequenceNumbers
        if answer.chargesAttempt { queue.takeBack(sequenceNumbers) { $0.attempts += 1 } }
        bury(queue.entries(of: sequenceNumbers), reason, answer)
    }

    /// Puts events aside as dead letters, as they lay in the queue (Behaviour D10).
    private func bury(_ entries: [QueueEntry], _ reason: DeadLetter.Reason, _ answer: LastAnswer) {
        for entry in entries { surroundings.settlements.add(.deadLetter(letter(for: entry, reason, answer))) }
        settle(SequenceSet(entries.map(\.sequenceNumber)), as: .dead)
    }

    private func letter(for entry: QueueEntry, _ reason: DeadLetter.Reason, _ answer: LastAnswer) -> DeadLetter {
        let wall = surroundings.worker.wall
        return DeadLetter(
            dispatcher: queue.number, sequenceNumber: entry.sequenceNumber, reason: reason,
            status: answer.status, answer: answer.text, attempts: entry.attempts,
            firstFailedAt: entry.firstFailure ?? wall, diedAt: wall, record: entry.event.record)
    }
}

extension SendResult {
    /// Why the attempt failed, for people.
    var cause: String? {
        switch self {
        case .delivered, .interrupted: nil
        case .noAnswer(let cause), .returned(let cause): cause
        case .refused(let refusal): "HTTP \(refusal.status)"
        case .each(let outcomes): outcomes.lazy.compactMap(\.cause).first
        }
    }

    /// How long the destination asked to wait.
    var retryAfter: Duration? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal.retryAfter
    }
}
