@testable import HeadgateServer

/// Who operates the daemon: over a connection of its own that is never lost while the daemon lives, one thing after the other.
final class Operator: Actor {
    private let record: Record
    private let crowd: Crowd
    private let sides: [FarSide]
    private let letters: LetterDesk
    private var connection: SimulatedClient?
    private var isCalm = false

    init(_ record: Record, _ crowd: Crowd, _ sides: [FarSide], _ ledger: Ledger) {
        self.record = record
        letters = LetterDesk(record, ledger.letters)
        self.crowd = crowd
        self.sides = sides
    }

    func lifeBegan(_ service: Service) {
        connection = crowd.connectOperator()
        if isCalm { calmDown() }
    }

    func lifeEnded(_ end: LifeEnd) {
        connection = nil
    }

    var acts: [Act] {
        guard !isCalm, let connection, connection.isContent else { return [] }
        return [
            Act(5) { [self] in operate(connection, record.pick(sides)) },
            Act(3) { [self] in letters.operate(connection, record.pick(sides)) },
        ]
    }

    private func operate(_ connection: SimulatedClient, _ side: FarSide) {
        switch record.number(0...5) {
        case 0: connection.ask("queue.purge", #"{"dispatcher":"\#(side.id)"}"#, .purge)
        case 1...2:
            record.count(.paused)
            let isFlushable = record.oneIn(3)
            if isFlushable { side.isPaused = false }
            let request = isFlushable ? SimulatedClient.Request.other : .way(side, isPaused: true)
            connection.ask("dispatcher.pause", #"{"id":"\#(side.id)","flushable":\#(isFlushable)}"#, request)
        default: resume(side)
        }
    }

    /// From the moment that it is asked for the way may be open.
    private func resume(_ side: FarSide) {
        side.isPaused = false
        connection?.ask("dispatcher.resume", #"{"id":"\#(side.id)"}"#, .way(side, isPaused: false))
    }

    func calmDown() {
        isCalm = true
        for side in sides { resume(side) }
        if let connection { letters.list(connection) }
    }
}
