import HeadgateData

/// One activation under way.
struct Activation {
    let id: Int
    let request: ActivationRequest
    let purpose: Purpose
    /// How deep it stands before others, at most: the activated board itself is 0 (Behaviour A8). Those for whom that is so
    /// may be gone.
    var depth: Int
    var stage = Stage.unserved
    /// The barriers that are still before it, the next one first.
    var barriers: ArraySlice<ActivationBarrier> = []
    /// True until the board's process has chosen the activation's barrier (Behaviour A2).
    var needsChoice = false
    /// What has completed for it.
    var completed: Set<CycleIdentity> = []

    /// Whom its end is told.
    enum Purpose {
        /// Whoever asked.
        case asker
        /// The cycle of the same number, whose barrier it is.
        case cycle
    }

    /// What it waits for.
    enum Stage: Equatable {
        /// For a process that serves the board.
        case unserved
        /// For this cycle of a barrier.
        case held(cycle: Int)
        /// For this process's choice of a barrier (Behaviour A2).
        case choosing(run: Int, provider: Int)
        /// For the answer of this process.
        case running(run: Int, provider: Int)
    }
}

/// What somebody asks of a board (Behaviour A1).
public struct ActivationRequest: Sendable, Equatable {
    /// The board to activate.
    public var board: String
    /// What the board is given; `null` where there is nothing.
    public var input = DataItem.null
    /// The input as the option `unique` compares it; nil if that is `input` itself. Two inputs that JSON tells apart may be one
    /// `DataItem`, since a string of Swift has no room for half a surrogate pair.
    public var comparedInput: DataItem?
    /// Whose barriers of scope `main` stand before it (Behaviour A3).
    public var mainboard: String
    /// The connection that asked; nil: the service itself.
    public var client: Int?
    /// Whether the board is run as a barrier: another process takes it over when its own goes away (Behaviour A6).
    public var isBarrier = false
    /// The time that the board's process has for its answer, and for its choice of a barrier, from when it was asked; nil if
    /// the caller keeps the time itself.
    public var timeout: Duration? = .seconds(30)
    /// How long to wait for a process that serves the board (Behaviour A1); nil: as long as it takes.
    public var wait: Duration? = .zero
    /// The activation whose run makes this request, if the caller knows it; nil if the request comes from anywhere else. A board
    /// that waits for that run itself can never go on (Behaviour A8).
    public var within: Int?

    public init(board: String, mainboard: String) {
        self.board = board
        self.mainboard = mainboard
    }
}

/// What one connection has to do with activations. It dies with the connection.
struct ActivationPeer {
    /// The boards that it serves.
    var boards = NameSet()
    /// The activations that it asked for.
    var activations: Set<Int> = []
    /// The answers that it owes.
    var runs: Set<Int> = []

    var isEmpty: Bool { boards.isEmpty && activations.isEmpty && runs.isEmpty }
}

/// What the machine wants done.
public enum ActivationOrder: Sendable, Equatable {
    /// Ask a process to run a board, and report its answer by ``Activations/answered(_:by:with:at:)``.
    case run(BoardRun)
    /// Ask a process to choose the barrier of an activation, and report its choice by ``Activations/chose(_:by:_:at:)``.
    case choose(BoardRun)
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

/// How an activation ends: exactly once.
public enum ActivationOutcome: Sendable, Equatable {
    /// The board's process answered.
    case completed(done: Bool, output: DataItem?)
    /// The board's process answered with an error, which is told as it came.
    case failed(ActivationFault)
    /// Nobody serves the board (`not_found`).
    case notServed
    /// The process that was to answer is gone (`provider_lost`).
    case providerLost
    /// The process did not answer in time (`timeout`).
    case timedOut
    /// A barrier before the board did not complete (`cancelled`).
    case cancelled(barrier: String, cause: BarrierCause)
    /// Boards wait for each other in a circle, or too deep (`activation_cycle`); the boards, from the activated one on.
    case circle([String])
    /// Whoever asked gave it up, or is gone.
    case givenUp
}

/// Why a barrier did not complete (Behaviour A2).
public enum BarrierCause: String, Sendable {
    /// Its process answered with `done: false` or an error.
    case refused
    /// It took too long.
    case timeout
    /// Nobody serves it, or no longer.
    case providerLost = "provider_lost"
}

/// An error with which a board's process answered.
public struct ActivationFault: Error, Sendable, Equatable {
    /// For people.
    public var message: String
    /// The error as it came: `code`, `message`, `data`.
    public var error: DataObject?

    public init(message: String, error: DataObject? = nil) {
        self.message = message
        self.error = error
    }
}

/// How much one connection may ask for (Behaviour X2).
public struct ActivationLimits: Sendable, Equatable {
    /// Boards that one connection may serve.
    public var boardsPerConnection = 1024
    /// Activations that one connection may have under way.
    public var activationsPerConnection = 1024
    /// How deep barriers may stand before barriers; the activated board is 0 (Behaviour A8).
    public var depth = 8

    public init() {}
}

/// A connection may have so many activations under way, and has them.
public struct TooManyActivations: Error, Sendable, Equatable {
    public let limit: Int
}
