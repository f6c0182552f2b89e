import HeadgateCore
import HeadgateTransport

/// What a sender, the thread that hands messages over and librdkafka's thread have in common: the account of flights, and
/// what is known of the producer.
final class KafkaLink: FlightAccount {
    private struct State {
        var flights = KafkaFlights()
        /// What the present producer reports to. What an earlier one says of itself does not count.
        var present: ObjectIdentifier?
        /// Flights that gave events back of which the dispatcher has not heard yet, by their causes. What it sends meanwhile goes
        /// back as well: it must not go before those (Behaviour Q2).
        var unheard: [Int: String] = [:]
        /// Flights that were over as they began.
        var ended: [MessageFlights.Ended] = []
        /// Why nothing comes through, as far as that was reported since the last delivery.
        var trouble: KafkaTrouble?
        /// True if a flight took too long while brokers let this producer not in: another one reads its files again.
        var isStuck = false
        /// Has events produced that may go by now.
        var publish: (@Sendable () -> Void)?

        /// A report, with what is known of the connections where it tells no cause.
        mutating func explained(_ report: KafkaFlights.Report) -> KafkaFlights.Report {
            switch report {
            case .stored:
                if trouble != nil { trouble = nil }
                return report
            case .failed(nil): return .failed(cause: trouble?.cause)
            case .refused, .failed: return report
            }
        }
    }

    private let state = Guarded(State())
    private let ended: @Sendable (MessageFlights.Ended) -> Void

    /// - Parameter ended: called on any thread when a flight is over.
    init(ended: @escaping @Sendable (MessageFlights.Ended) -> Void) {
        self.ended = ended
    }

    /// Sets what has events produced that had to wait.
    /// - Parameter publish: called on any thread.
    func onReady(_ publish: @escaping @Sendable () -> Void) {
        state.withLock { $0.publish = publish }
    }

    // MARK: Flights

    func begin(_ flight: Int, _ batch: Batch) {
        state.withLock { state in
            guard let cause = state.unheard.values.first else {
                state.ended += state.flights.begin(flight, batch).ended
                return
            }
            state.unheard[flight] = cause
            state.ended.append(MessageFlights.Ended(number: flight, result: .noAnswer(cause: cause)))
        }
    }

    func heard(_ flight: Int) {
        state.withLock { $0.unheard[flight] = nil }
    }

    func end(_ flight: Int, cause: String) {
        change { state in
            if let trouble = state.trouble, trouble.isTelling, trouble.isFinal { state.isStuck = true }
            return state.flights.end(flight, cause: state.trouble?.cause ?? cause)
        }
    }

    func forgetFlights() {
        state.withLock { state in
            state.flights.forgetFlights()
            state.unheard = [:]
        }
    }

    // MARK: Producing

    /// True if an event may be produced now. Flights that were over as they began are reported.
    func mayProduce() -> Bool {
        let (mayProduce, over) = state.withLock { state in
            defer { state.ended = [] }
            return (state.flights.mayProduce, state.ended)
        }
        over.forEach(ended)
        return mayProduce
    }

    /// Takes the next events that may be produced, up to a number of them.
    func take(_ most: Int) -> [KafkaFlights.Portion] {
        state.withLock { $0.flights.take(most) }
    }

    /// True if a producer has to be made before the next event.
    var needsProducer: Bool { state.withLock { $0.flights.needsProducer } }

    /// A producer was made that reports to this object.
    func producerMade(_ reports: KafkaReports) {
        state.withLock { state in
            state.flights.producerMade()
            state.present = ObjectIdentifier(reports)
            (state.trouble, state.isStuck) = (nil, false)
        }
    }

    /// True if the producer is to be given up with what it has.
    var isStuck: Bool { state.withLock { $0.isStuck } }

    /// The producer was given up, and reports no more.
    func abandon() {
        change { state in
            state.isStuck = false
            return state.flights.abandon(state.trouble?.cause)
        }
    }

    /// No producer can be had: events that were not produced yet go again.
    func failWaiting(_ cause: String) {
        change { $0.flights.failWaiting(cause) }
    }

    // MARK: What the producer says

    /// What came of some messages.
    func report(_ reports: [(message: KafkaFlights.Message, report: KafkaFlights.Report)]) {
        change { state in
            var all = KafkaFlights.Outcome()
            for (message, report) in reports {
                let outcome = state.flights.report(message, state.explained(report))
                all.ended += outcome.ended
                all.mayProduce = all.mayProduce || outcome.mayProduce
            }
            return all
        }
    }

    /// Something is wrong with a producer's connections.
    func note(_ trouble: KafkaTrouble, of reports: KafkaReports) {
        state.withLock { state in
            guard state.present == ObjectIdentifier(reports) else { return }
            if trouble.isTelling || state.trouble == nil { state.trouble = trouble }
        }
    }

    /// A producer takes no more messages.
    func producerEnded(_ reports: KafkaReports) {
        state.withLock { state in
            if state.present == ObjectIdentifier(reports) { state.flights.producerEnded() }
        }
    }

    private func change(_ body: (inout State) -> KafkaFlights.Outcome) {
        let (outcome, publish) = state.withLock { state in
            let outcome = body(&state)
            for ended in outcome.ended {
                if let cause = ended.result.causeOfRetry { state.unheard[ended.number] = cause }
            }
            return (outcome, state.publish)
        }
        outcome.ended.forEach(ended)
        if outcome.mayProduce { publish?() }
    }
}

extension SendResult {
    /// Why some events go again, or nil if none do.
    fileprivate var causeOfRetry: String? {
        switch self {
        case .noAnswer(let cause, _), .lost(let cause), .unsendable(let cause): cause
        case .each(let outcomes):
            outcomes.lazy.compactMap { if case .retry(let cause, _) = $0 { cause } else { nil } }.first
        case .delivered, .refused, .returned, .interrupted: nil
        }
    }
}
