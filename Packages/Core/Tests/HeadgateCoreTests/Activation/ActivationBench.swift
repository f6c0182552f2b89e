import HeadgateData

@testable import HeadgateCore

/// The machine, with a clock that stands still and processes that answer when they are told to.
struct ActivationBench {
    var machine: Activations
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    /// What processes have been asked, in that order, and have neither answered nor been spared.
    private(set) var runs: [BoardRun] = []
    /// The choices of barriers that processes were asked for and have not made, in the order of the requests.
    private(set) var choices: [BoardRun] = []
    /// The ends of activations, in the order in which they came.
    private(set) var ends: [(activation: Int, outcome: ActivationOutcome)] = []
    private(set) var withdrawn: [Int] = []

    static let client = 100

    init(limits: ActivationLimits = ActivationLimits()) {
        machine = Activations(limits: limits)
    }

    // MARK: Facts

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

    /// The process that was asked first to run a board answers.
    mutating func answer(_ board: String, done: Bool = true, output: DataItem? = nil) {
        answer(board, with: .success(BoardResult(done: done, output: output)))
    }

    mutating func answer(_ board: String, with answer: BoardAnswer) {
        guard let place = runs.firstIndex(where: { $0.board == board }) else { return }
        let run = runs.remove(at: place)
        perform(machine.answered(run.run, by: run.provider, with: answer, at: now))
    }

    /// The process that was asked first for a barrier of a board chooses one, or none.
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
        perform(machine.providerLeft(provider, at: now))
    }

    mutating func clientLeaves(_ client: Int = ActivationBench.client) {
        perform(machine.clientLeft(client, at: now))
    }

    mutating func cancel(_ activation: Int) {
        perform(machine.cancel(activation, at: now))
    }

    /// Time goes on, stopping at each deadline on the way.
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

    // MARK: What is seen

    /// The boards that processes are asked to run now.
    var running: [String] { runs.map(\.board) }

    func outcome(of activation: Int) -> ActivationOutcome? {
        ends.first { $0.activation == activation }?.outcome
    }
}

extension Activations {
    /// Whether nothing is remembered of any activation.
    var isForgetful: Bool {
        activations.isEmpty && cycles.isEmpty && joinable.isEmpty && unserved.isEmpty && runs.isEmpty
            && deadlines.isEmpty && completed.isEmpty && nextDeadline == nil && steps.isEmpty && orders.isEmpty
            && peers.values.allSatisfy { $0.activations.isEmpty && $0.runs.isEmpty }
    }
}
