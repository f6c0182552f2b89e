import HeadgateCore

@testable import HeadgateServer

/// The actor that answers the batches at the simulated destinations.
final class Destinations: Actor {
    private let record: Record
    private let sides: [FarSide]
    private var isCalm = false

    init(_ record: Record, _ sides: [FarSide]) {
        self.record = record
        self.sides = sides
    }

    var acts: [Act] {
        if isCalm { return [] }
        return [
            Act(15) { [self] in answerOne() },
            Act(1) { [self] in record.pick(sides).isBusy.toggle() },
        ]
    }

    private func answerOne() {
        let requested = sides.filter(\.hasWaiting)
        if !requested.isEmpty { record.pick(requested).answerOne() }
    }

    var isQuiet: Bool { !sides.contains(where: \.hasWaiting) }

    func lifeBegan(_ service: Service) {
        for side in sides {
            side.lost = { [weak service] in
                service?.gate.counts.lost ?? 0
            }
        }
    }

    func lifeEnded(_ end: LifeEnd) {
        for side in sides { side.lifeEnded(end) }
    }

    func calmDown() {
        isCalm = true
        for side in sides { side.isWell = true }
    }

    func proceed() -> Bool {
        let wasBusy = !isQuiet
        for side in sides { side.answerOne() }
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
