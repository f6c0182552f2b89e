import HeadgateCore

@testable import HeadgateServer

/// Time and the network.
final class Nature: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let sides: [FarSide]
    private var network = NetworkState.connected(.ethernet)
    private var service: Service?
    private var isCalm = false

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ sides: [FarSide]) {
        self.record = record
        self.scheduler = scheduler
        self.sides = sides
    }

    var acts: [Act] {
        isCalm ? [] : [Act(6) { [self] in advance(by: record.pick([1, 50, 400, 1_500])) }, Act(2, change)]
    }

    private func advance(by milliseconds: Int) {
        record.note("\(milliseconds) ms pass")
        scheduler.advance(by: .milliseconds(milliseconds))
    }

    private func change() {
        switch record.number(0...3) {
        case 0:
            record.count(.clockJumped)
            scheduler.jump(by: Int64(record.pick([-3_600_000, 3_600_000])))
        case 1:
            record.count(.networkLost)
            set(.disconnected)
        default: set(.connected(.wifi))
        }
    }

    private func set(_ state: NetworkState) {
        record.note("the network is \(state.word)")
        network = state
        tell()
    }

    private func tell() {
        service?.networkChanged(network)
        for side in sides where side.isRemote { side.isOffline = network == .disconnected }
    }

    func lifeBegan(_ service: Service) {
        self.service = service
        tell()
    }

    func lifeEnded(_ end: LifeEnd) {
        service = nil
    }

    func calmDown() {
        isCalm = true
        set(.connected(.ethernet))
    }
}
