import HeadgateData

/// What the machine wants done.
public enum ActivationOrder: Sendable, Equatable {
    /// Ask a process to run a board, and report its answer by ``Activations/answered(_:by:with:at:)``.
    case run(BoardRun)
    /// Nobody waits for that process's answer any more.
    case withdraw(run: Int, provider: Int)
    /// Tell whoever asked for this activation what came of it.
    case end(activation: Int, ActivationOutcome)
}

/// One board that one process is to run.
public struct BoardRun: Sendable, Equatable {
    /// Tells this run from every other, also from an earlier one of the same activation.
    public let run: Int
    /// The connection of the process.
    public let provider: Int
    /// The activation that it is for; the same when another process takes it over.
    public let activation: Int
    public let board: String
    public let input: DataItem
    public let mainboard: String
    /// Whether others wait for it to complete.
    public let isBarrier: Bool
}
