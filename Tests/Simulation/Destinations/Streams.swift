import HeadgateCore

@testable import HeadgateServer

/// The actor that publishes and answers messages at the simulated stream.
final class Streams: Actor {
    private let record: Record
    private let destination: StreamWitness
    private weak var service: Service?
    private var isCalm = false

    init(_ record: Record, _ destination: StreamWitness) {
        (self.record, self.destination) = (record, destination)
        destination.lost = { [unowned self] in summary?.counters.lost ?? 0 }
    }

    private var summary: DispatcherSummary? {
        service?.gate.dispatcherSummaries.first { $0.id == destination.queue.id }
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    func lifeEnded(_ end: LifeEnd) {
        destination.lifeEnded()
    }

    var acts: [Act] {
        if isCalm { return [] }
        return [
            Act(10) { [destination] in destination.stream.publishOne() },
            Act(10) { [destination] in destination.stream.answerOne(isWell: false) },
            Act(1) { [destination] in destination.stream.loseConnection() },
        ]
    }

    func calmDown() {
        isCalm = true
    }

    func proceed() -> Bool {
        let wasBusy = destination.stream.hasWork
        for _ in 0..<5 {
            destination.stream.publishOne()
            destination.stream.answerOne(isWell: true)
        }
        return wasBusy
    }

    var isQuiet: Bool { destination.isIdle }

    func check() {
        destination.queue.check(summary?.counters)
    }
}
