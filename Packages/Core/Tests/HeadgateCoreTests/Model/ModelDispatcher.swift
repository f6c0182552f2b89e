import HeadgateCore

/// A dispatcher as the rules have it, without any cleverness: sets of sequence numbers.
struct ModelDispatcher {
    var settings: DispatcherSettings
    /// The threshold of the batching barrier before it; nil without one.
    var batchSize: Int?
    /// Stored for it and not settled, as far as the model was told: expired and evicted events are among them.
    var unsettled: Set<SequenceNumber> = []
    var inFlight: Set<SequenceNumber> = []
    /// Passed over by a later event, so they must have expired or been evicted.
    var vanished: Set<SequenceNumber> = []
    var attempts: [SequenceNumber: Int] = [:]
    var failures = 0
    var waitsUntil = Instant(nanoseconds: 0)
    /// The reasons for which barriers have held an event, for certain; and those for which they may have.
    var held: [SequenceNumber: Set<String>] = [:]
    var mayBeHeld: [SequenceNumber: Set<String>] = [:]
    /// Behind an answer few events may wait for more so long (decision 59).
    var lingersUntil = Instant(nanoseconds: 0)
    var isPaused = false
    var isPauseFlushable = false
    var halvedThrough: SequenceNumber = 0
    /// How many workers in a row were lost with an event, and the most events of a batch that it may be in since.
    var losses: [SequenceNumber: Int] = [:]
    var shares: [SequenceNumber: Int] = [:]
    /// Since the start.
    var delivered = 0
    var dead = 0

    var id: String { settings.id }

    /// What an answer does (Behaviour D3 to D9), by the book.
    /// - Parameter chance: how much of the longest wait there is.
    mutating func answered(
        _ sequenceNumbers: [SequenceNumber], _ result: SendResult, at now: Instant, chance: Double
    ) {
        inFlight.subtract(sequenceNumbers)
        lingersUntil = now + .milliseconds(1)
        switch result {
        case .delivered: deliver(sequenceNumbers)
        case .refused(let refusal) where refusal.meaning == .tooLarge && sequenceNumbers.count > 1:
            halvedThrough = max(halvedThrough, sequenceNumbers.max() ?? 0)
        case .refused(let refusal) where refusal.meaning != .again:
            bury(sequenceNumbers)
        case .refused(let refusal):
            if refusal.isCharged { judged(sequenceNumbers) }
            if refusal.isCharged { charge(sequenceNumbers) }
            wait(from: now, chance)
        case .lost: lost(sequenceNumbers, at: now, chance)
        case .unsendable: bury(sequenceNumbers)
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
        case .dead: bury([sequenceNumber])
        case .retry(_, let charged):
            judged([sequenceNumber])
            if charged { charge([sequenceNumber]) }
        }
    }

    /// Behaviour K3: each loss is charged, from the third in a row on the batch goes in halves, and from the second on after a
    /// wait.
    private mutating func lost(_ sequenceNumbers: [SequenceNumber], at now: Instant, _ chance: Double) {
        for number in sequenceNumbers {
            losses[number, default: 0] += 1
            if losses[number, default: 0] >= 3 { shares[number] = (sequenceNumbers.count + 1) / 2 }
        }
        let isAgain = sequenceNumbers.contains { losses[$0, default: 0] > 1 }
        if isAgain { waitsUntil = max(waitsUntil, now + .milliseconds(500) * chance) }
        charge(sequenceNumbers)
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
        bury(sequenceNumbers.filter { attempts[$0, default: 0] >= settings.maxAttempts })
    }

    private mutating func bury(_ sequenceNumbers: [SequenceNumber]) {
        dead += sequenceNumbers.count
        unsettled.subtract(sequenceNumbers)
    }

    private mutating func wait(from now: Instant, _ chance: Double) {
        failures += 1
        let wait = Duration.milliseconds(min(300_000, 500 << min(failures - 1, 20)))
        waitsUntil = max(waitsUntil, now + wait * chance)
    }

    /// The process was killed, and so much is not settled.
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
