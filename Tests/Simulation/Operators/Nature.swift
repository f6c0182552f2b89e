import HeadgateCore

@testable import HeadgateServer

/// The actor that changes time and the network.
final class Nature: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let ages: Ages
    private let destinations: [SimulatedDestination]
    private var network = NetworkState.connected(.ethernet)
    private var service: Service?
    private var isCalm = false
    /// True if the network changed without a dispatcher that depends on it, so that only a barrier watch reports it,
    /// and no watch was compared since.
    var isUnseen = false
    /// True if the disk is busy, which delays the search for expired events.
    var isDiskBusy: () -> Bool = { false }
    /// The remaining time for which the network stays down, so that all events waiting for it expire.
    private var waitsOut: Int?

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ ages: Ages, _ destinations: [SimulatedDestination]) {
        self.record = record
        self.scheduler = scheduler
        self.ages = ages
        self.destinations = destinations
    }

    var acts: [Act] {
        if isCalm { return [] }
        // At times the ConnectivityBarrier has no dispatcher but is watched.
        let haste = hasGoneDestination ? 14 : 2
        var acts = [Act(6) { [self] in advance(by: record.pick([1, 50, 400, 1_500])) }, Act(haste, change)]
        if scheduler.jumped != 0 { acts.append(Act(1) { [self] in jump(by: -scheduler.jumped) }) }
        return ages.mostAge == nil ? acts : acts + [Act(3, growOlder)]
    }

    private var hasGoneDestination: Bool { destinations.contains { $0.isRemote && $0.isGone } }

    private func advance(by milliseconds: Int) {
        record.note("\(milliseconds) ms pass")
        scheduler.advance(by: .milliseconds(milliseconds))
    }

    private func growOlder() {
        switch record.number(0...2) {
        case 0:
            let duration = record.pick([1_000, 5_000, 3_600_000])
            record.count(.slept)
            record.note("the machine sleeps for \(duration) ms")
            scheduler.sleep(for: .milliseconds(duration))
        case 1: jump(by: record.pick([-5_000, -999, 999, 5_000]))
        default: advance(by: record.pick([2_000, 5_000, 70_000]))
        }
    }

    private func jump(by milliseconds: Int64) {
        record.count(.clockJumped)
        record.note("the wall clock jumps by \(milliseconds) ms")
        scheduler.jump(by: milliseconds)
    }

    private func change() {
        switch record.number(0...3) {
        case 0: jump(by: record.pick([-3_600_000, 3_600_000]))
        case 1:
            record.count(.networkLost)
            set(.disconnected)
        default: set(.connected(.wifi))
        }
    }

    private func set(_ state: NetworkState) {
        record.note("the network is \(state.word)")
        isUnseen = state != network && hasGoneDestination
        network = state
        report()
    }

    private func report() {
        service?.networkChanged(network)
        for destination in destinations where destination.isRemote { destination.isOffline = network == .disconnected }
    }

    func lifeBegan(_ service: Service) {
        self.service = service
        report()
    }

    func lifeEnded(_ end: LifeEnd) {
        service = nil
    }

    // MARK: End of the run

    /// Restores the network, or first lets the events that wait for it expire (Behaviour Q4).
    func calmDown() {
        isCalm = true
        waitsOut = ages.mostAge != nil && network == .disconnected ? Nature.patience : nil
        if waitsOut == nil { set(.connected(.ethernet)) }
    }

    /// The number of waits in which all overdue events must have expired. The sweeper pauses for ten seconds between
    /// two passes.
    private static let patience = 15

    var isQuiet: Bool { waitsOut == nil }

    func proceed() -> Bool {
        guard let left = waitsOut else { return false }
        scheduler.advance(by: .seconds(1))
        let remote = destinations.filter(\.isRemote)
        guard let end = ages.end(of: remote.reduce(into: []) { $0.formUnion($1.queue.waiting) }), end <= ages.now else {
            return true
        }
        guard !isDiskBusy() else {
            waitsOut = Nature.patience
            return true
        }
        waitsOut = left - 1
        guard left == 0 else { return true }
        for summary in service?.gate.dispatcherSummaries ?? [] where remote.contains(where: { $0.id == summary.id }) {
            record.expect(summary.pending == 0, "\(summary.id) still has \(summary.pending) that are too old")
        }
        record.count(.waitedOut)
        waitsOut = nil
        set(.connected(.ethernet))
        return true
    }
}
