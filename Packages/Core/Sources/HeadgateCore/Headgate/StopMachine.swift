/// The steps of an orderly stop, each with a time limit (Behaviour D11, F5). Pure: facts and the time go in, orders
/// come out.
///
/// Flushing and finishing batches in flight have the time that the stop was given. The last part of that time begins no
/// new batches, so that those in flight can finish and are not sent twice. After it, interrupted batches are awaited for
/// ``interruptionGrace``, and the store, which has to write the rest, for ``storeGrace``.
struct StopMachine {
    static let interruptionGrace = Duration.seconds(1)
    static let storeGrace = Duration.seconds(5)

    enum Order: Equatable {
        /// Flush all dispatchers.
        case flush
        /// Cancel the flush: it can only wait.
        case endFlush
        /// Send no more batches.
        case takeNoMore
        /// Interrupt all batches in flight.
        case interrupt
        /// Write all pending changes, and close the store.
        case closeStore
        /// Report the end of the stop.
        case end(StopOutcome)
    }

    /// The present step. A fact that belongs to another step is late, and is ignored.
    private enum Step {
        /// Pending events are sent as far as barriers allow. Next: `finishing`, at the end of the flush or at its
        /// deadline; `interrupted`, if the time limit is over by then.
        case flushing
        /// No more batches are sent. Those in flight are finished. Next: `closing`, once none is in flight;
        /// `interrupted` at the time limit.
        case finishing
        /// The batches in flight have been interrupted, and their ends are awaited. Next: `closing`, once none is in
        /// flight or after the grace.
        case interrupted
        /// The store writes the pending changes. Next: `ended`, once the store is closed or after the grace.
        case closing(batchesLeft: Int)
        /// The last step.
        case ended(StopOutcome)
    }

    private let deadline: Instant
    /// The time at which the flush ends.
    private let flushDeadline: Instant
    private var step = Step.flushing

    private init(at now: Instant, within timeout: Duration) {
        deadline = now + timeout
        flushDeadline = now + (timeout - min(timeout / 5, .seconds(1)))
    }

    /// Begins a stop.
    static func begin(at now: Instant, within timeout: Duration, flushing: Bool) -> (stop: StopMachine, orders: [Order])
    {
        var stop = StopMachine(at: now, within: timeout)
        return flushing
            ? (stop, [.flush])
            : {
                let orders = stop.flushEnded()
                return (stop, orders)
            }()
    }

    /// True if nothing is sent any more, and the store is being closed or is closed.
    var isClosing: Bool {
        switch step {
        case .flushing, .finishing, .interrupted: false
        case .closing, .ended: true
        }
    }

    /// The result of the stop; nil until it has ended.
    var outcome: StopOutcome? { if case .ended(let outcome) = step { outcome } else { nil } }

    /// The time at which ``timePassed(to:inFlight:)`` is due.
    var nextDeadline: Instant? {
        switch step {
        case .flushing: flushDeadline
        case .finishing: deadline
        case .interrupted: deadline + StopMachine.interruptionGrace
        case .closing: deadline + StopMachine.storeGrace
        case .ended: nil
        }
    }

    // MARK: Facts

    /// Checks the conditions of the present step, at the end of a turn.
    /// - Parameters:
    ///   - isStuck: true if the flush can only wait: barriers that it does not ignore hold all remaining events.
    ///   - inFlight: the number of batches in flight.
    mutating func checked(isStuck: Bool, inFlight: Int) -> [Order] {
        switch step {
        case .flushing: isStuck ? [.endFlush] : []
        case .finishing, .interrupted: inFlight == 0 ? close(batchesLeft: 0) : []
        case .closing, .ended: []
        }
    }

    /// Records that the flush has ended, for any reason, or was not started.
    mutating func flushEnded() -> [Order] {
        guard case .flushing = step else { return [] }
        step = .finishing
        return [.takeNoMore]
    }

    mutating func storeClosed() -> [Order] {
        guard case .closing(let left) = step else { return [] }
        return end(StopOutcome(batchesLeft: left, isStoreClosed: true))
    }

    /// Takes the next step if its deadline has passed.
    /// - Parameter inFlight: the number of batches in flight.
    mutating func timePassed(to now: Instant, inFlight: Int) -> [Order] {
        guard let due = nextDeadline, now >= due else { return [] }
        switch step {
        case .flushing:
            let isOver = now >= deadline
            step = isOver ? .interrupted : .finishing
            return [.endFlush, .takeNoMore] + (isOver ? [.interrupt] : [])
        case .finishing:
            step = .interrupted
            return [.interrupt]
        case .interrupted:
            return close(batchesLeft: inFlight)
        case .closing(let left): return end(StopOutcome(batchesLeft: left, isStoreClosed: false))
        case .ended: return []
        }
    }

    private mutating func close(batchesLeft: Int) -> [Order] {
        step = .closing(batchesLeft: batchesLeft)
        return [.closeStore]
    }

    private mutating func end(_ outcome: StopOutcome) -> [Order] {
        step = .ended(outcome)
        return [.end(outcome)]
    }
}

/// The result of an orderly stop. All acknowledged events are stored in any case.
public struct StopOutcome: Sendable, Equatable {
    /// The number of batches that did not end in time, not even after an interruption.
    public var batchesLeft = 0
    /// True if the store has written everything and closed. A store that does not answer is abandoned: events whose
    /// settlements it has not written are sent again after the next start.
    public var isStoreClosed = false

    /// True if nothing was left over.
    public var isComplete: Bool { batchesLeft == 0 && isStoreClosed }
}
