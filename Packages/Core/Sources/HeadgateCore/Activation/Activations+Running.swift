import HeadgateData

/// How a board's process answered.
public typealias BoardAnswer = Result<BoardResult, ActivationFault>

/// What a board's process says when it has run the board.
public struct BoardResult: Sendable, Equatable {
    /// Whether the board did what it is for.
    public var done: Bool
    /// What it puts out.
    public var output: DataItem?

    public init(done: Bool, output: DataItem? = nil) {
        self.done = done
        self.output = output
    }
}

extension Activations {
    /// A process has answered. An answer to nothing, or to what nobody waits for any more, changes nothing
    /// (Behaviour A5).
    public mutating func answered(
        _ run: Int, by provider: Int, with answer: BoardAnswer, at now: Instant
    ) -> [ActivationOrder] {
        guard peers[provider]?.runs.contains(run) == true, let id = finish(run, of: provider) else { return [] }
        steps.append(.end(id, ActivationOutcome(answer)))
        return carryOut(at: now)
    }

    /// Has a process run the board: everything before it is out of the way.
    mutating func run(_ id: Int) {
        guard let activation = activations[id] else { return }
        let chosen = boards.choose(for: activation.request.board) { [peers] in peers[$0]?.runs.count ?? 0 }
        guard let provider = chosen else { return end(id, .providerLost) }
        lastRun += 1
        let run = lastRun
        runs[run] = id
        changePeer(provider) { $0.runs.insert(run) }
        activations[id]?.stage = .running(run: run, provider: provider)
        if let timeout = activation.request.timeout, !deadlines.contains(id) { deadlines.set(id, at: now + timeout) }
        orders.append(.run(BoardRun(run, of: activation, by: provider)))
    }

    /// Nobody waits for an answer any more.
    /// - Returns: the activation that it was for; nil when nobody did before.
    mutating func finish(_ run: Int, of provider: Int) -> Int? {
        guard let id = runs.removeValue(forKey: run) else { return nil }
        changePeer(provider) { $0.runs.remove(run) }
        return id
    }
}

extension BoardRun {
    fileprivate init(_ run: Int, of activation: Activation, by provider: Int) {
        self.init(
            run: run, provider: provider, activation: activation.id, board: activation.request.board,
            input: activation.request.input, mainboard: activation.request.mainboard,
            isBarrier: activation.request.isBarrier)
    }
}

extension ActivationOutcome {
    fileprivate init(_ answer: BoardAnswer) {
        switch answer {
        case .success(let result): self = .completed(done: result.done, output: result.output)
        case .failure(let fault): self = .failed(fault)
        }
    }
}
