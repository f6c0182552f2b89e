import HeadgateCore

@testable import HeadgateServer

/// The actor that publishes and answers messages at the simulated stream.
final class Streams: Actor {
    private let record: Record
    private let side: StreamSide
    private weak var service: Service?
    private var isCalm = false

    init(_ record: Record, _ side: StreamSide) {
        (self.record, self.side) = (record, side)
        side.lost = { [unowned self] in summary?.counters.lost ?? 0 }
    }

    private var summary: DispatcherSummary? {
        service?.gate.dispatcherSummaries.first { $0.id == side.lane.id }
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    func lifeEnded(_ end: LifeEnd) {
        side.lifeEnded()
    }

    var acts: [Act] {
        if isCalm { return [] }
        return [
            Act(10) { [side] in side.stream.publishOne() },
            Act(10) { [side] in side.stream.answerOne(isWell: false) },
            Act(1) { [side] in side.stream.loseConnection() },
        ]
    }

    func calmDown() {
        isCalm = true
    }

    func proceed() -> Bool {
        let wasBusy = side.stream.hasWork
        for _ in 0..<5 {
            side.stream.publishOne()
            side.stream.answerOne(isWell: true)
        }
        return wasBusy
    }

    var isQuiet: Bool { side.isIdle }

    func check() {
        side.lane.check(summary?.counters)
    }
}
