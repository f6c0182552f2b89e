import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateCore

/// Feeds random inputs to ``ActivationMachine`` and checks the invariants that hold for any input.
struct ActivationRun {
    private var random: SeededRandom
    private var machine: ActivationMachine
    private var now = Instant(nanoseconds: 1)
    /// Activations that have not ended, by number.
    private var inProgress: [Int: Requested] = [:]
    private var ended: Set<Int> = []
    /// Board runs that were requested and not answered, by number.
    private var runs: [Int: BoardRun] = [:]
    private var spared: [Int] = []
    /// The time at which each board last completed for a mainboard, or at which a waiter passed it on timeout.
    private var passed: [Passage: Instant] = [:]
    private var barriers: [String: ActivationBarrier] = [:]
    /// Boards whose process chooses the barrier for each activation.
    private var choosing: Set<String> = []
    /// Barrier choices that were requested and not answered, by number.
    private var choices: [Int: BoardRun] = [:]

    private struct Requested {
        let board: String
        let mainboard: String
        let client: Int
        var barriers: [ActivationBarrier]
        let since: Instant
    }

    /// A completed barrier, identified by board and mainboard only, since every activation has a different input.
    private struct Passage: Hashable {
        let board: String
        let mainboard: String
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    private static let boards = ["auth", "login", "gate", "shop", "till", "pay"]
    private static let providers = 1...4
    private static let clients = 3...6

    init(seed: Seed) {
        random = SeededRandom(seed: seed)
        var limits = ActivationLimits()
        limits.depth = Int.random(in: 0...4, using: &random)
        machine = ActivationMachine(limits: limits)
        for (index, board) in ActivationRun.boards.enumerated() where index > 0 && !random.oneIn(3) {
            barriers[board] = barrier(ActivationRun.boards[Int.random(in: 0..<index, using: &random)])
            if random.oneIn(3) { choosing.insert(board) }
        }
        guard let gateway = GatewayPattern("s*"), random.oneIn(2) else { return }
        machine.gateways = GatewayRules([gateway: .barrier(barrier("gate"))])
    }

    private mutating func barrier(_ board: String) -> ActivationBarrier {
        var barrier = ActivationBarrier(board: board)
        barrier.option = ActivationBarrier.Option.allCases.randomElement(using: &random) ?? .void
        barrier.scope = ActivationBarrier.Scope.allCases.randomElement(using: &random) ?? .main
        barrier.onTimeout = ActivationBarrier.OnTimeout.allCases.randomElement(using: &random) ?? .cancel
        barrier.timeout = .seconds(Int.random(in: 1...20, using: &random))
        if random.oneIn(3) { barrier.sticky = .seconds(Int.random(in: 1...20, using: &random)) }
        return barrier
    }

    mutating func run(steps: Int) throws(Violation) {
        for _ in 0..<steps {
            try step()
            try check()
        }
        try finish()
    }

    private mutating func step() throws(Violation) {
        switch Int.random(in: 0..<22, using: &random) {
        case 0...2: try serve()
        case 3...8: try activate()
        case 9...14: try answer()
        case 15: try leave()
        case 16: try cancel()
        case 17:
            if let board = ActivationRun.boards.randomElement(using: &random) {
                _ = machine.unserve(board, by: provider())
            }
        case 18: try answerLate()
        case 20, 21: try choose()
        default: try pass(.milliseconds(Int.random(in: 1...10_000, using: &random)))
        }
    }

    // MARK: Random inputs

    private mutating func provider() -> Int { Int.random(in: ActivationRun.providers, using: &random) }

    private mutating func serve() throws(Violation) {
        guard let board = ActivationRun.boards.randomElement(using: &random) else { return }
        let serving = serving(board)
        let orders: [ActivationOrder]
        do {
            orders = try machine.serve(board, serving, by: provider(), at: now)
        } catch .cycle {
            return
        } catch {
            throw Violation(description: "refused to serve \(board): \(error)")
        }
        try perform(orders)
    }

    private func serving(_ board: String) -> BoardServing {
        choosing.contains(board) ? BoardServing(.chosen) : BoardServing(barrier: barriers[board])
    }

    private mutating func choose() throws(Violation) {
        guard let run = choices.values.sorted(by: { $0.run < $1.run }).randomElement(using: &random) else { return }
        choices[run.run] = nil
        let choice = random.oneIn(3) ? nil : barriers[run.board]
        if let choice { inProgress[run.activation]?.barriers.append(choice) }
        let answer: Result<ActivationBarrier?, ActivationFault> =
            random.oneIn(6) ? .failure(ActivationFault(message: "no")) : .success(choice)
        try perform(machine.chose(run.run, by: run.provider, answer, at: now))
    }

    private mutating func activate() throws(Violation) {
        guard let board = ActivationRun.boards.randomElement(using: &random) else { return }
        var request = ActivationRequest(board: board, mainboard: random.oneIn(2) ? "one" : "two")
        request.input = .number(DataNumber(Int.random(in: 0...1, using: &random)))
        request.client = Int.random(in: ActivationRun.clients, using: &random)
        request.isBarrier = random.oneIn(6)
        request.timeout = .seconds(Int.random(in: 1...20, using: &random))
        if random.oneIn(3) { request.wait = .seconds(Int.random(in: 1...20, using: &random)) }
        let barriers = machine.barriers(before: board, serving(board))
        let started: (activation: Int, orders: [ActivationOrder])
        do {
            started = try machine.activate(request, at: now)
        } catch {
            throw Violation(description: "\(error)")
        }
        inProgress[started.activation] = Requested(
            board: board, mainboard: request.mainboard, client: request.client ?? 0, barriers: barriers, since: now)
        try perform(started.orders)
    }

    private mutating func answer() throws(Violation) {
        guard let run = runs.values.sorted(by: { $0.run < $1.run }).randomElement(using: &random) else { return }
        runs[run.run] = nil
        let isDone = !random.oneIn(4)
        if isDone { passed[Passage(board: run.board, mainboard: run.mainboard)] = now }
        let answer: BoardAnswer =
            !isDone && random.oneIn(2)
            ? .failure(ActivationFault(message: "no")) : .success(BoardResult(done: isDone))
        try perform(machine.answered(run.run, by: run.provider, with: answer, at: now))
    }

    private mutating func answerLate() throws(Violation) {
        guard let run = spared.randomElement(using: &random) else { return }
        let orders =
            machine.answered(run, by: provider(), with: .success(BoardResult(done: true)), at: now)
            + machine.chose(run, by: provider(), .success(nil), at: now)
        if !orders.isEmpty { throw Violation(description: "the late answer to run \(run) had an effect") }
    }

    private mutating func leave() throws(Violation) {
        let leaver = Int.random(in: 1...6, using: &random)
        try perform(machine.clientLeft(leaver, at: now))
        guard !inProgress.values.contains(where: { $0.client == leaver }) else {
            throw Violation(description: "client \(leaver) left, and its activations continue")
        }
        for run in [runs, choices].flatMap(\.values) where run.provider == leaver {
            runs[run.run] = nil
            choices[run.run] = nil
            spared.append(run.run)
        }
        try perform(machine.servingClientLeft(leaver, at: now))
    }

    private mutating func cancel() throws(Violation) {
        guard let id = inProgress.keys.sorted().randomElement(using: &random) else { return }
        try perform(machine.cancel(id, at: now))
        guard inProgress[id] == nil else { throw Violation(description: "\(id) continues after its cancellation") }
    }

    private mutating func pass(_ duration: Duration) throws(Violation) {
        let end = now + duration
        while let deadline = machine.nextDeadline, deadline <= end {
            guard deadline >= now else { throw Violation(description: "a deadline lies in the past") }
            now = deadline
            noteLateBarriers()
            try perform(machine.timePassed(to: now))
        }
        now = end
    }

    /// Records the boards whose barriers time out now and have a waiter that passes on timeout.
    private mutating func noteLateBarriers() {
        for (number, cycle) in machine.cycles where cycle.waiters.contains(where: { $0.barrier.onTimeout == .pass }) {
            guard let runner = machine.activations[number]?.request else { continue }
            passed[Passage(board: runner.board, mainboard: runner.mainboard)] = now
        }
    }

    // MARK: Orders

    private mutating func perform(_ orders: [ActivationOrder]) throws(Violation) {
        for order in orders {
            switch order {
            case .run(let run): try started(run)
            case .choose(let run): choices[run.run] = run
            case .withdraw(let run, _):
                guard runs.removeValue(forKey: run) ?? choices.removeValue(forKey: run) != nil else {
                    throw Violation(description: "withdrew run \(run), which has ended or was never requested")
                }
                spared.append(run)
            case .end(let id, let outcome):
                guard let requested = inProgress.removeValue(forKey: id), ended.insert(id).inserted else {
                    throw Violation(description: "activation \(id) ended twice, or was never started")
                }
                if case .cycle(let path) = outcome { try check(path, of: requested) }
            }
        }
    }

    private mutating func started(_ run: BoardRun) throws(Violation) {
        guard runs.updateValue(run, forKey: run.run) == nil else { throw Violation(description: "run twice: \(run)") }
        guard let requested = inProgress[run.activation] else {
            guard run.isBarrier else { throw Violation(description: "run for no activation: \(run)") }
            return
        }
        for barrier in requested.barriers where !hasPassed(barrier, for: requested) {
            throw Violation(description: "\(run.board) was run before its barrier \(barrier.board) completed")
        }
    }

    private func hasPassed(_ barrier: ActivationBarrier, for requested: Requested) -> Bool {
        let latest = passed.filter { passage, _ in
            passage.board == barrier.board && (barrier.scope == .global || passage.mainboard == requested.mainboard)
        }
        guard let moment = latest.values.max() else { return false }
        return moment >= requested.since || barrier.sticky.map { now < moment + $0 } ?? false
    }

    // MARK: Invariants

    private func check() throws(Violation) {
        let requested = machine.activations.values.filter { $0.purpose == .asker }.map(\.id)
        guard Set(requested) == Set(inProgress.keys) else {
            throw Violation(description: "activations leaked or were lost")
        }
        guard Set(machine.runs.keys) == Set(runs.keys).union(choices.keys) else {
            throw Violation(description: "runs leaked or were lost")
        }
        guard machine.cycles.count == machine.joinable.count else { throw Violation(description: "a cycle leaked") }
        for number in machine.cycles.keys where !machine.deadlines.contains(number) {
            throw Violation(description: "cycle \(number) has no deadline")
        }
        for (number, cycle) in machine.cycles {
            for waiter in cycle.waiters where machine.activations[waiter.activation]?.stage != .held(cycle: number) {
                throw Violation(description: "cycle \(number) lists \(waiter.activation), which does not wait")
            }
        }
        for activation in machine.activations.values { try check(activation) }
    }

    private func check(_ activation: Activation) throws(Violation) {
        if activation.purpose == .asker { try checkDepth(of: activation) }
        if activation.purpose == .cycle, machine.cycles[activation.id] == nil {
            throw Violation(description: "barrier run \(activation.id) belongs to no cycle")
        }
        switch activation.stage {
        case .unserved:
            guard machine.unserved[activation.request.board]?.contains(activation.id) == true else {
                throw Violation(description: "\(activation.id) waits for a board, but is not listed")
            }
        case .held(let cycle):
            let waits = machine.cycles[cycle]?.waiters.contains { $0.activation == activation.id } == true
            guard waits else { throw Violation(description: "\(activation.id) waits for an ended cycle") }
        case .choosing(let run, _), .running(let run, _):
            guard machine.runs[run] == activation.id else { throw Violation(description: "run \(run) is not listed") }
        }
    }

    /// Checks that no chain of waiting activations exceeds the depth limit, and that no activation assumes a smaller
    /// depth than it has.
    private func checkDepth(of asker: Activation) throws(Violation) {
        var (last, depth) = (asker, 0)
        while case .held(let cycle) = last.stage, let next = machine.activations[cycle] {
            (last, depth) = (next, depth + 1)
            guard depth <= next.depth else { throw Violation(description: "\(cycle) assumes a depth below \(depth)") }
        }
        guard depth <= machine.limits.depth else { throw Violation(description: "\(asker.id) exceeds the depth limit") }
    }

    /// Checks a refused path. Barriers of boards never form a cycle, so either the chain was too deep, or the
    /// activation was made by a process that runs a barrier in that chain.
    private func check(_ path: [String], of requested: Requested) throws(Violation) {
        let isWithinRun = path.last == path.first && ActivationRun.providers.contains(requested.client)
        guard path.first == requested.board, path.count == machine.limits.depth + 2 || isWithinRun else {
            throw Violation(description: "\(requested.board) was refused with the path \(path)")
        }
    }

    /// Advances the clock until every activation has ended, and checks that the machine then holds no state.
    private mutating func finish() throws(Violation) {
        try pass(.seconds(1000))
        try check()
        guard inProgress.isEmpty else { throw Violation(description: "\(inProgress.keys.sorted()) never ended") }
        guard machine.isForgetful else { throw Violation(description: "the machine still holds state") }
        for peer in 1...6 { try perform(machine.servingClientLeft(peer, at: now)) }
        guard machine.peers.isEmpty, machine.boards.isEmpty else { throw Violation(description: "boards are left") }
    }
}

@Suite("Random activations")
struct ActivationModelTests {
    @Test("A1–A8: each activation ends once and never runs before its barriers, every cycle ends, and no state is left")
    func rulesHold() {
        for seed in Seeds.first(400) {
            var run = ActivationRun(seed: seed)
            do {
                try run.run(steps: 80)
            } catch {
                Issue.record("\(seed): \(error)")
                return
            }
        }
    }
}
