import HeadgateCore

@testable import HeadgateServer

/// The actor that answers the batches at the simulated destinations.
final class Destinations: Actor {
    private let record: Record
    private let destinations: [SimulatedDestination]
    private var isCalm = false

    init(_ record: Record, _ destinations: [SimulatedDestination]) {
        self.record = record
        self.destinations = destinations
    }

    var acts: [Act] {
        if isCalm { return [] }
        return [
            Act(15) { [self] in answerOne() },
            Act(1) { [self] in record.pick(destinations).isBusy.toggle() },
        ]
    }

    private func answerOne() {
        let requested = destinations.filter(\.hasWaiting)
        if !requested.isEmpty { record.pick(requested).answerOne() }
    }

    var isQuiet: Bool { !destinations.contains(where: \.hasWaiting) }

    func lifeBegan(_ service: Service) {
        for destination in destinations {
            destination.lost = { [weak service] in
                service?.gate.counts.lost ?? 0
            }
        }
    }

    func lifeEnded(_ end: LifeEnd) {
        for destination in destinations { destination.lifeEnded(end) }
    }

    func calmDown() {
        isCalm = true
        for destination in destinations { destination.isWell = true }
    }

    func proceed() -> Bool {
        let wasBusy = !isQuiet
        for destination in destinations { destination.answerOne() }
        return wasBusy
    }
}

extension EventCounts {
    /// The total number of events that were dropped.
    var lost: Int { all[.evicted] + all[.purged] + all[.expired] }
}

extension Counters<DispatcherCounter> {
    /// The number of events that were dropped.
    var lost: Int { self[.evicted] + self[.purged] + self[.expired] }
}
