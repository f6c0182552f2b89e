import HeadgateCore

@testable import HeadgateServer

/// Programs with the Swift client, which keeps tracked events until they are acknowledged, even without a daemon.
final class Programs: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let fleet: ClientFleet
    private let ledger: Ledger
    private var programs: [Program] = []
    private var begun = 0
    private var service: Service?
    private var isCalm = false

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ fleet: ClientFleet, _ ledger: Ledger) {
        (self.record, self.scheduler, self.fleet, self.ledger) = (record, scheduler, fleet, ledger)
        fleet.programs = self
    }

    /// All connections that the daemon may have open for programs.
    var connections: [SimulatedConnection] { programs.flatMap(\.connections).filter(\.isOpen) + leftBehind }
    /// All connections accepted by the present daemon.
    private(set) var accepted: [SimulatedConnection] = []
    /// Connections of programs that have ended.
    private var leftBehind: [SimulatedConnection] = []

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    /// Programs survive the end of the daemon, but not a power failure.
    func lifeEnded(_ end: LifeEnd) {
        service = nil
        for connection in connections { connection.forget() }
        (leftBehind, accepted) = ([], [])
        if end == .powerless { programs = [] }
    }

    // MARK: Actions

    var acts: [Act] {
        isCalm
            ? []
            : [
                Act(10) { [self] in program().track() }, Act(20) { [self] in program().takeTurn() },
                Act(2) { [self] in program().askOtherwise() }, Act(6) { [self] in program().persistentCalls.act() },
                Act(1) { [self] in program().cancelOne() },
                Act(1, leave),
                Act(2) { [self] in read(record.pick([0, 50])) }, Act(2) { [self] in read(.max) },
            ]
    }

    private func program() -> Program {
        if !programs.isEmpty, programs.count == 2 || !record.oneIn(4) { return record.pick(programs) }
        begun += 1
        let program = Program("p\(begun)", record, scheduler, ledger) { [unowned self] connection in
            guard let service else { return false }
            service.accept(connection)
            accepted.append(connection)
            return true
        }
        programs.append(program)
        return program
    }

    /// Sets the number of bytes that the programs read from now on.
    private func read(_ room: Int) {
        for connection in connections { connection.room = room }
    }

    /// A program closes its client and ends.
    private func leave() {
        guard !programs.isEmpty, record.oneIn(3) else { return }
        record.count(.programGone)
        let program = programs.remove(at: record.number(0...programs.count - 1))
        program.close()
        leftBehind = (leftBehind + program.connections).filter(\.isOpen)
    }

    // MARK: End of the run

    func calmDown() {
        isCalm = true
        read(.max)
        for program in programs { program.persistentCalls.calmDown() }
    }

    func check() {
        guard let service else { return }
        for program in programs { program.persistentCalls.check(service) }
        let credits = programs.reduce(0) { $0 + $1.persistentCalls.credits }
        let capacity = service.workerGroups.known(PersistentCalls.dispatcher)?.capacity.batches ?? 0
        record.expect(capacity == credits, "programs take \(credits) batches at once, and \(capacity) are known")
    }

    func proceed() -> Bool {
        leftBehind.removeAll { !$0.isOpen }
        for program in programs {
            program.takeTurn()
            if program.isWaiting, !program.connections.contains(where: \.isOpen) { fleet.makeRoom() }
        }
        return false
    }

    /// True if all calls are finished.
    var isQuiet: Bool { !programs.contains(where: \.isWaiting) }
}
