/// The steps of an orderly stop, each with an end that comes whatever the others do (Behaviour D11, F5). Pure: facts and the
/// time go in, orders come out.
///
/// What may go and what is in flight has the time that the stop was given. Who does not even end what was interrupted is
/// not waited for longer than ``interruptionGrace``; and the store, which has to write down the rest, not longer than
/// ``storeGrace``, both counted from the end of that time.
struct StopMachine {
    static let interruptionGrace = Duration.seconds(1)
    static let storeGrace = Duration.seconds(5)

    enum Order: Equatable {
        /// Flush everything.
        case flush
        /// End the flush: it could only wait.
        case endFlush
        /// Take no more batches.
        case takeNoMore
        /// Have all that is in flight given up.
        case interrupt
        /// Write down what there is, and close the store.
        case closeStore
        /// Tell that it is over.
        case end(StopOutcome)
    }

    private enum Step {
        /// What may go, goes.
        case flushing
        /// No more batches; those on their way are finished.
        case finishing
        /// The same, and they were told to give up.
        case interrupted
        /// The store writes down the rest.
        case closing
        case ended
    }

    private let deadline: Instant
    private var step = Step.flushing
    private var outcome = StopOutcome()

    private init(deadline: Instant) {
        self.deadline = deadline
    }

    /// Begins a stop.
    static func begin(at now: Instant, within timeout: Duration, flushing: Bool) -> (stop: StopMachine, orders: [Order])
    {
        var stop = StopMachine(deadline: now + timeout)
        return flushing
            ? (stop, [.flush])
            : {
                let orders = stop.flushEnded()
                return (stop, orders)
            }()
    }

    /// Whether nothing is sent any more, and the store is about to be closed or is.
    var isClosing: Bool { step == .closing || step == .ended }

    var hasEnded: Bool { step == .ended }

    /// When ``timePassed(to:inFlight:)`` is due.
    var nextDeadline: Instant? {
        switch step {
        case .flushing, .finishing: deadline
        case .interrupted: deadline + StopMachine.interruptionGrace
        case .closing: deadline + StopMachine.storeGrace
        case .ended: nil
        }
    }

    // MARK: Facts

    /// A turn has ended.
    /// - Parameters:
    ///   - isStuck: whether a flush could only wait: barriers that it does not open hold all that is left.
    ///   - inFlight: how many batches are on their way.
    mutating func looked(isStuck: Bool, inFlight: Int) -> [Order] {
        switch step {
        case .flushing: isStuck ? [.endFlush] : []
        case .finishing, .interrupted: inFlight == 0 ? close() : []
        case .closing, .ended: []
        }
    }

    /// The flush has ended, for whatever reason, or did not begin.
    mutating func flushEnded() -> [Order] {
        guard step == .flushing else { return [] }
        step = .finishing
        return [.takeNoMore]
    }

    mutating func storeClosed() -> [Order] {
        guard step == .closing else { return [] }
        outcome.isStoreClosed = true
        return end()
    }

    /// - Parameter inFlight: how many batches are on their way.
    mutating func timePassed(to now: Instant, inFlight: Int) -> [Order] {
        guard let due = nextDeadline, now >= due else { return [] }
        switch step {
        case .flushing:
            step = .interrupted
            return [.endFlush, .takeNoMore, .interrupt]
        case .finishing:
            step = .interrupted
            return [.interrupt]
        case .interrupted:
            outcome.batchesLeft = inFlight
            return close()
        case .closing: return end()
        case .ended: return []
        }
    }

    private mutating func close() -> [Order] {
        step = .closing
        return [.closeStore]
    }

    private mutating func end() -> [Order] {
        step = .ended
        return [.end(outcome)]
    }
}

/// What an orderly stop came to. Whatever it left, all that was acknowledged is stored.
public struct StopOutcome: Sendable, Equatable {
    /// Batches whose senders did not end them in time, not even when they were told to.
    public var batchesLeft = 0
    /// Whether the store has written down all, and closed. One that does not answer is left: what it had not written down
    /// of settlements is sent again at the next start.
    public var isStoreClosed = false

    /// Whether nothing was left.
    public var isComplete: Bool { batchesLeft == 0 && isStoreClosed }
}
