import HeadgateData

@testable import HeadgateCore

/// An ``ActivationMachine`` with a manual clock. A test answers each board run and each barrier choice explicitly.
struct ActivationBench {
    var machine: ActivationMachine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// Requests to run a board that are neither answered nor withdrawn, in the order in which they were made.
    private(set) var runs: [BoardRun] = []
    /// Requests for a barrier choice that are not answered, in the order in which they were made.
    private(set) var choices: [BoardRun] = []
    /// Activations that ended, in the order in which they ended.
    private(set) var ends: [(activation: Int, outcome: ActivationOutcome)] = []
    private(set) var withdrawn: [Int] = []

    static let client = 100

    init(limits: ActivationLimits = ActivationLimits()) {
        machine = ActivationMachine(limits: limits)
    }

    // MARK: Inputs

    mutating func serve(_ board: String, by provider: Int = 1, behind barrier: ActivationBarrier? = nil) throws {
        try serve(board, by: provider, BoardServing(barrier: barrier))
    }

    mutating func serve(_ board: String, by provider: Int = 1, _ serving: BoardServing) throws {
        perform(try machine.serve(board, serving, by: provider, at: now))
    }

    @discardableResult
    mutating func activate(
        _ board: String, _ input: DataItem = .null, mainboard: String = "main", client: Int = ActivationBench.client,
        changing change: (inout ActivationRequest) -> Void = { _ in }
    ) throws -> Int {
        var request = ActivationRequest(board: board, mainboard: mainboard)
        request.input = input
        request.client = client
        change(&request)
        let (activation, orders) = try machine.activate(request, at: now)
        perform(orders)
        return activation
    }

    /// Answers the oldest outstanding request to run `board`.
    mutating func answer(_ board: String, done: Bool = true, output: DataItem? = nil) {
        answer(board, with: .success(BoardResult(done: done, output: output)))
    }

    mutating func answer(_ board: String, with answer: BoardAnswer) {
        guard let index = runs.firstIndex(where: { $0.board == board }) else { return }
        let run = runs.remove(at: index)
        perform(machine.answered(run.run, by: run.provider, with: answer, at: now))
    }

    /// Answers the oldest outstanding request for a barrier of `board`, with a barrier or with none.
    mutating func choose(_ board: String, _ barrier: ActivationBarrier?) {
        choose(board, with: .success(barrier))
    }

    mutating func choose(_ board: String, with choice: Result<ActivationBarrier?, ActivationFault>) {
        guard let index = choices.firstIndex(where: { $0.board == board }) else { return }
        let run = choices.remove(at: index)
        perform(machine.chose(run.run, by: run.provider, choice, at: now))
    }

    mutating func providerLeaves(_ provider: Int) {
        runs.removeAll { $0.provider == provider }
        choices.removeAll { $0.provider == provider }
        perform(machine.servingClientLeft(provider, at: now))
    }

    mutating func clientLeaves(_ client: Int = ActivationBench.client) {
        perform(machine.clientLeft(client, at: now))
    }

    mutating func cancel(_ activation: Int) {
        perform(machine.cancel(activation, at: now))
    }

    /// Advances the clock by `duration` and lets the machine handle each deadline in that time.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = machine.nextDeadline, deadline <= end {
            now = max(now, deadline)
            perform(machine.timePassed(to: now))
        }
        now = end
    }

    mutating func perform(_ orders: [ActivationOrder]) {
        for order in orders {
            switch order {
            case .run(let run): runs.append(run)
            case .choose(let run): choices.append(run)
            case .withdraw(let run, _):
                runs.removeAll { $0.run == run }
                choices.removeAll { $0.run == run }
                withdrawn.append(run)
            case .end(let activation, let outcome): ends.append((activation, outcome))
            }
        }
    }

    // MARK: Observed state

    /// The boards of the outstanding runs.
    var running: [String] { runs.map(\.board) }

    func outcome(of activation: Int) -> ActivationOutcome? {
        ends.first { $0.activation == activation }?.outcome
    }
}

extension ActivationMachine {
    /// True if the machine holds no state of any activation.
    var isForgetful: Bool {
        activations.isEmpty && cycles.isEmpty && joinable.isEmpty && unserved.isEmpty && runs.isEmpty
            && deadlines.isEmpty && completed.isEmpty && nextDeadline == nil && steps.isEmpty && orders.isEmpty
            && peers.values.allSatisfy { $0.activations.isEmpty && $0.runs.isEmpty }
    }
}
