import HeadgateCore
import HeadgateTransport

/// The state that a sender, its publishing thread and librdkafka's thread share: the flights, and the condition of the
/// producer.
final class KafkaLink: FlightAccount {
    private struct State {
        var flights = KafkaFlights()
        /// The receiver of the present producer's reports. Reports of an earlier producer about itself are ignored.
        var present: ObjectIdentifier?
        /// The ended flights that returned events and are not yet reported to the dispatcher, with their causes.
        /// Batches that the dispatcher sends meanwhile are returned too, because they must not overtake those events
        /// (Behaviour Q2).
        var unreported: [Int: String] = [:]
        /// The flights that ended when they began.
        var ended: [MessageFlights.Ended] = []
        /// The last problem that was reported since a message was stored, or nil.
        var failure: KafkaFailure?
        /// True if the topic's state is to be requested: the producer is new, or a flight has ended without an answer.
        var doubtsTopic = false
        /// True if a flight timed out while brokers refused this producer. A new producer then reads its files again.
        var isStuck = false
        /// Called when further events may be produced.
        var publish: (@Sendable () -> Void)?

        /// Returns the reports. Reports without a cause get the last known problem as their cause.
        mutating func explained(_ reports: KafkaFlights.Reports) -> KafkaFlights.Reports {
            switch reports.report {
            case .stored:
                failure = nil
                return reports
            case .failed(nil): return .init(messages: reports.messages, report: .failed(cause: failure?.cause))
            case .refused, .failed: return reports
            }
        }
    }

    private let state = Guarded(State())
    private let ended: @Sendable (MessageFlights.Ended) -> Void

    /// - Parameter ended: called on any thread when a flight ends.
    init(ended: @escaping @Sendable (MessageFlights.Ended) -> Void) {
        self.ended = ended
    }

    /// Sets the function that produces events that had to wait.
    /// - Parameter publish: called on any thread.
    func onReady(_ publish: @escaping @Sendable () -> Void) {
        state.withLock { $0.publish = publish }
    }

    // MARK: Flights

    func begin(_ flight: Int, _ batch: Batch) {
        state.withLock { state in
            guard let cause = state.unreported.values.first else {
                state.ended += state.flights.begin(flight, batch).ended
                return
            }
            state.unreported[flight] = cause
            state.ended.append(MessageFlights.Ended(number: flight, result: .noAnswer(cause: cause)))
        }
    }

    func willEnd(_ flight: Int) {
        state.withLock { $0.unreported[flight] = nil }
    }

    func end(_ flight: Int, cause: String) {
        change { state in
            if let failure = state.failure, failure.isSpecific, failure.isFinal { state.isStuck = true }
            state.doubtsTopic = true
            return state.flights.end(flight, cause: state.failure?.cause ?? cause)
        }
    }

    func forgetFlights() {
        state.withLock { state in
            state.flights.forgetFlights()
            state.unreported = [:]
        }
    }

    // MARK: Producing

    /// Returns true if an event may be produced now. Reports flights that ended when they began.
    func mayProduce() -> Bool {
        let (mayProduce, over) = state.withLock { state in
            defer { state.ended = [] }
            return (state.flights.mayProduce, state.ended)
        }
        over.forEach(ended)
        return mayProduce
    }

    /// Takes the next events that may be produced, at most this many.
    func take(_ most: Int) -> [KafkaFlights.Portion] {
        state.withLock { $0.flights.take(most) }
    }

    /// True if a producer must be made before the next event.
    var needsProducer: Bool { state.withLock { $0.flights.needsProducer } }

    /// Notes that a producer was made, which reports to this object.
    func producerMade(_ reports: KafkaReports) {
        state.withLock { state in
            state.flights.producerMade()
            state.present = ObjectIdentifier(reports)
            (state.failure, state.isStuck, state.doubtsTopic) = (nil, false, true)
        }
    }

    /// Returns true if the topic's state is to be requested now. The next call returns false.
    func takeDoubtOfTopic() -> Bool {
        state.withLock { state in
            defer { state.doubtsTopic = false }
            return state.doubtsTopic
        }
    }

    /// True if the producer must be dropped with its messages.
    var isStuck: Bool { state.withLock { $0.isStuck } }

    /// Records that the producer was dropped, and that no more reports come.
    func dropAll() {
        change { state in
            state.isStuck = false
            return state.flights.dropAll(state.failure?.cause)
        }
    }

    /// Returns events that were not produced yet for another attempt, because there is no producer.
    func failWaiting(_ cause: String) {
        change { $0.flights.failWaiting(cause) }
    }

    // MARK: Reports of the producer

    /// Handles the reports of some messages.
    func report(_ reports: [KafkaFlights.Reports]) {
        change { state in
            var all = KafkaFlights.Outcome()
            for range in reports {
                let outcome = state.flights.report(state.explained(range))
                all.ended += outcome.ended
                all.mayProduce = all.mayProduce || outcome.mayProduce
            }
            return all
        }
    }

    /// Notes a problem of a producer's connections.
    func note(_ failure: KafkaFailure, of reports: KafkaReports) {
        state.withLock { state in
            guard state.present == ObjectIdentifier(reports) else { return }
            if failure.isSpecific || state.failure == nil { state.failure = failure }
        }
    }

    /// Notes that a producer takes no more messages.
    func producerEnded(_ reports: KafkaReports) {
        state.withLock { state in
            if state.present == ObjectIdentifier(reports) { state.flights.producerEnded() }
        }
    }

    private func change(_ body: (inout State) -> KafkaFlights.Outcome) {
        let (outcome, publish) = state.withLock { state in
            let outcome = body(&state)
            for ended in outcome.ended {
                if let cause = ended.result.causeOfRetry { state.unreported[ended.number] = cause }
            }
            return (outcome, state.publish)
        }
        outcome.ended.forEach(ended)
        if outcome.mayProduce { publish?() }
    }
}

extension SendResult {
    /// The cause for which events are sent again, or nil if none are.
    fileprivate var causeOfRetry: String? {
        switch self {
        case .noAnswer(let cause, _), .lost(let cause), .unsendable(let cause): cause
        case .each(let outcomes):
            outcomes.lazy.compactMap { if case .retry(let cause, _) = $0 { cause } else { nil } }.first
        case .delivered, .partlyRejected, .refused, .returned, .interrupted: nil
        }
    }
}
