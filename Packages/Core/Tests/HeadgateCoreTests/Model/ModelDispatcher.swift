import HeadgateCore

/// A simple model of a dispatcher, in sets of sequence numbers.
struct ModelDispatcher {
    var settings: DispatcherSettings
    /// The batch size of its batching barrier, or nil if it has none.
    var batchSize: Int?
    /// Events stored and not settled as far as the model knows. They include expired and evicted events.
    var unsettled: Set<SequenceNumber> = []
    var inFlight: Set<SequenceNumber> = []
    /// Events that a later event overtook, so they must have expired or been evicted.
    var vanished: Set<SequenceNumber> = []
    var attempts: [SequenceNumber: Int] = [:]
    var failures = 0
    var waitsUntil = Instant(nanoseconds: 0)
    /// Per event, the barriers that certainly held it, and the barriers that may have held it.
    var held: [SequenceNumber: Set<String>] = [:]
    var mayBeHeld: [SequenceNumber: Set<String>] = [:]
    /// The end of the batch delay after an answer (decision 59).
    var lingersUntil = Instant(nanoseconds: 0)
    var isPaused = false
    var isPauseFlushable = false
    var halvedThrough: SequenceNumber = 0
    /// Per event, the workers lost in a row, and the largest batch that the event may be part of since then.
    var losses: [SequenceNumber: Int] = [:]
    var shares: [SequenceNumber: Int] = [:]
    /// Events delivered since the start of the process.
    var delivered = 0
    var dead = 0

    var id: String { settings.id }

    /// Applies an answer as Behaviour D3 to D9 say.
    /// - Parameter chance: The random fraction, from 0 to 1, of the longest wait.
    mutating func answered(
        _ sequenceNumbers: [SequenceNumber], _ result: SendResult, at now: Instant, chance: Double
    ) {
        inFlight.subtract(sequenceNumbers)
        lingersUntil = now + .milliseconds(1)
        switch result {
        case .delivered, .partlyRejected: deliver(sequenceNumbers)
        case .refused(let refusal) where refusal.meaning == .tooLarge && sequenceNumbers.count > 1:
            halvedThrough = max(halvedThrough, sequenceNumbers.max() ?? 0)
        case .refused(let refusal) where refusal.meaning != .again:
            deadLetter(sequenceNumbers)
        case .refused(let refusal):
            if refusal.isCharged { judged(sequenceNumbers) }
            if refusal.isCharged { charge(sequenceNumbers) }
            wait(from: now, chance)
        case .lost: lost(sequenceNumbers, at: now, chance)
        case .unsendable: deadLetter(sequenceNumbers)
        case .each(let outcomes):
            for (number, outcome) in zip(sequenceNumbers, outcomes) { answered(number, outcome) }
            if outcomes.contains(where: \.isRetry) { wait(from: now, chance) }
        case .noAnswer, .returned: wait(from: now, chance)
        case .interrupted: break
        }
    }

    private mutating func answered(_ sequenceNumber: SequenceNumber, _ outcome: EventOutcome) {
        switch outcome {
        case .delivered, .duplicate: deliver([sequenceNumber])
        case .dead: deadLetter([sequenceNumber])
        case .retry(_, let charged):
            judged([sequenceNumber])
            if charged { charge([sequenceNumber]) }
        }
    }

    /// Behaviour K3: each loss is charged, but the last allowed attempt only to an event that was alone. From the second
    /// loss in a row the dispatcher waits, and from the third the batch is halved.
    private mutating func lost(_ sequenceNumbers: [SequenceNumber], at now: Instant, _ chance: Double) {
        for number in sequenceNumbers {
            losses[number, default: 0] += 1
            if losses[number, default: 0] >= 3 { shares[number] = (sequenceNumbers.count + 1) / 2 }
        }
        let isAgain = sequenceNumbers.contains { losses[$0, default: 0] > 1 }
        if isAgain { waitsUntil = max(waitsUntil, now + .milliseconds(500) * chance) }
        let isShared = sequenceNumbers.count > 1
        charge(sequenceNumbers.filter { !isShared || attempts[$0, default: 0] + 1 < settings.maxAttempts })
    }

    private mutating func judged(_ sequenceNumbers: [SequenceNumber]) {
        for number in sequenceNumbers { (losses[number], shares[number]) = (nil, nil) }
    }

    private mutating func deliver(_ sequenceNumbers: [SequenceNumber]) {
        failures = 0
        delivered += sequenceNumbers.count
        unsettled.subtract(sequenceNumbers)
    }

    private mutating func charge(_ sequenceNumbers: [SequenceNumber]) {
        for number in sequenceNumbers { attempts[number, default: 0] += 1 }
        deadLetter(sequenceNumbers.filter { attempts[$0, default: 0] >= settings.maxAttempts })
    }

    private mutating func deadLetter(_ sequenceNumbers: [SequenceNumber]) {
        dead += sequenceNumbers.count
        unsettled.subtract(sequenceNumbers)
    }

    private mutating func wait(from now: Instant, _ chance: Double) {
        failures += 1
        let wait = Duration.milliseconds(min(300_000, 500 << min(failures - 1, 20)))
        waitsUntil = max(waitsUntil, now + wait * chance)
    }

    /// Applies a crash after which exactly the events in `stored` are not settled.
    mutating func restarted(with stored: Set<SequenceNumber>) {
        let keep = (settings, batchSize)
        self = ModelDispatcher(settings: keep.0, batchSize: keep.1)
        unsettled = stored
    }
}

extension EventOutcome {
    fileprivate var isRetry: Bool {
        if case .retry = self { true } else { false }
    }
}
