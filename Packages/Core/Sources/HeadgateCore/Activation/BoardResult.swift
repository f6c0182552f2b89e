import HeadgateData

extension ActivationOutcome {
    /// Creates the outcome that a barrier's end has for its waiters; nil if they may continue. In a chain of barriers,
    /// the outcome names the barrier that did not complete.
    init?(refusal outcome: ActivationOutcome, by board: String) {
        switch outcome {
        case .completed(let result) where result.done: return nil
        case .completed, .failed: self = .cancelled(barrier: board, cause: .refused)
        case .notServed, .providerLost: self = .cancelled(barrier: board, cause: .providerLost)
        case .timedOut: self = .cancelled(barrier: board, cause: .timeout)
        case .cancelled, .cycle, .withdrawn: self = outcome
        }
    }
}

/// The answer of a board's process.
public typealias BoardAnswer = Result<BoardResult, ActivationFault>

/// The result of running a board.
public struct BoardResult: Sendable, Equatable {
    /// True if the board completed its task.
    public var done: Bool
    /// The output of the board.
    public var output: DataItem?
    /// The output's JSON text as received; nil if `output` represents it without loss.
    public var outputText: [UInt8]?

    public init(done: Bool, output: DataItem? = nil, outputText: [UInt8]? = nil) {
        self.done = done
        self.output = output
        self.outputText = outputText
    }
}

extension BoardRun {
    init(_ run: Int, of activation: Activation, by provider: Int) {
        self.init(
            run: run, provider: provider, activation: activation.id, board: activation.request.board,
            input: activation.request.input, inputText: activation.request.inputText,
            mainboard: activation.request.mainboard, isBarrier: activation.request.isBarrier)
    }
}

extension ActivationOutcome {
    init(_ answer: BoardAnswer) {
        switch answer {
        case .success(let result): self = .completed(result)
        case .failure(let fault): self = .failed(fault)
        }
    }
}
