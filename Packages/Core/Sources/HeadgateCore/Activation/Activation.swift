import HeadgateData

/// A running activation.
struct Activation {
    let id: Int
    let request: ActivationRequest
    let purpose: Purpose
    /// The number of activations above this one in the longest chain of waiters; 0 for the activated board itself
    /// (Behaviour A8). The chain may be shorter by now.
    var depth: Int
    var stage = Stage.unserved
    /// The steps before the board runs, the next one first.
    var ahead: ArraySlice<Step> = []
    /// The barrier cycles that have completed for this activation.
    var completed: Set<CycleIdentity> = []

    /// The receiver of the activation's outcome.
    enum Purpose {
        /// The client or part of the service that requested the activation.
        case asker
        /// The cycle with the same number: the activation runs its barrier.
        case cycle
    }

    /// A step before the board runs.
    enum Step {
        /// This barrier has to complete.
        case barrier(ActivationBarrier)
        /// The board's process has to choose a barrier, which takes the place of this step (Behaviour A2).
        case choice
    }

    /// The present stage, named for what the activation waits for. The activation may end in every stage: its requester
    /// cancels it, its time is over, or no process serves the board any more.
    ///
    /// A fact about another cycle or run than that of the stage is late, and is ignored: each cycle and each run has a
    /// number of its own (Behaviour A5).
    enum Stage: Equatable {
        /// A process that serves the board. Next, once there is one: `held`, `choosing` or `running`.
        case unserved
        /// This cycle of a barrier. Next, once it has completed: `held` by another barrier, `choosing` or `running`.
        case held(cycle: Int)
        /// This process's choice of a barrier (Behaviour A2). Next: `held` or `running`. If the process disconnects and
        /// the activation runs a barrier, another process chooses (Behaviour A6).
        case choosing(run: Int, provider: Int)
        /// The answer of this process, which ends the activation. If the process disconnects and the activation runs a
        /// barrier, another process runs it (Behaviour A6).
        case running(run: Int, provider: Int)
    }
}

/// A request to activate a board (Behaviour A1).
public struct ActivationRequest: Sendable, Equatable {
    /// The board to activate.
    public var board: String
    /// The input for the board; `null` for none.
    public var input = DataItem.null
    /// The input as the option `unique` compares it; nil if it is ``input``. Two different JSON inputs may be equal as
    /// `DataItem`, since Swift's strings cannot contain a lone surrogate.
    public var comparedInput: DataItem?
    /// The input's JSON text as received; nil if `input` represents it without loss.
    public var inputText: [UInt8]?
    /// The mainboard whose barriers of scope `main` apply (Behaviour A3).
    public var mainboard: String
    /// The connection that made the request; nil for the service itself.
    public var client: Int?
    /// True if the board is run as a barrier. Another process then takes over when the running one disconnects
    /// (Behaviour A6).
    public var isBarrier = false
    /// The time that the board's process has for its choice of a barrier and for its answer, each counted from the
    /// request. Nil if the caller limits the time itself.
    public var timeout: Duration? = .seconds(30)
    /// The time to wait for a process that serves the board (Behaviour A1); nil for no limit.
    public var wait: Duration? = .zero
    /// The activation from whose run the request comes, if the caller knows it. A board that waits for that run can
    /// never continue (Behaviour A8).
    public var within: Int?

    public init(board: String, mainboard: String) {
        self.board = board
        self.mainboard = mainboard
    }
}

/// The activations and boards of one connection. They end with the connection.
struct ActivationPeer {
    /// The boards that the connection serves.
    var boards = NameSet()
    /// The activations that the connection has requested.
    var activations: Set<Int> = []
    /// The runs that the connection has not answered yet.
    var runs: Set<Int> = []

    var isEmpty: Bool { boards.isEmpty && activations.isEmpty && runs.isEmpty }
}

/// An order from the activation machine.
public enum ActivationOrder: Sendable, Equatable {
    /// Ask a process to run a board, and report its answer to ``ActivationMachine/answered(_:by:with:at:)``.
    case run(BoardRun)
    /// Ask a process to choose the barrier of an activation, and report its choice to
    /// ``ActivationMachine/chose(_:by:_:at:)``.
    case choose(BoardRun)
    /// Cancel a run: its answer is no longer needed.
    case withdraw(run: Int, provider: Int)
    /// Report the outcome of an activation to its requester.
    case end(activation: Int, ActivationOutcome)
}

/// A request to one process to run one board.
public struct BoardRun: Sendable, Equatable {
    /// The number of the run, unique also among runs of one activation.
    public let run: Int
    /// The connection of the process.
    public let provider: Int
    /// The activation. It stays the same when another process takes over.
    public let activation: Int
    public let board: String
    public let input: DataItem
    /// The input's JSON text as received; nil if `input` represents it without loss.
    public let inputText: [UInt8]?
    public let mainboard: String
    /// True if other activations wait for this run.
    public let isBarrier: Bool
}

/// The outcome of an activation. Each activation has exactly one.
public enum ActivationOutcome: Sendable, Equatable {
    /// The board's process answered.
    case completed(BoardResult)
    /// The board's process answered with an error, which is passed on unchanged.
    case failed(ActivationFault)
    /// No process serves the board (`not_found`).
    case notServed
    /// The process that was to answer has disconnected (`provider_lost`).
    case providerLost
    /// The process did not answer in time (`timeout`).
    case timedOut
    /// A barrier before the board did not complete (`cancelled`).
    case cancelled(barrier: String, cause: BarrierCause)
    /// Boards wait for each other in a cycle, or too deep (`activation_cycle`). The value is the boards, from the
    /// activated one on.
    case cycle([String])
    /// The requester cancelled the activation or has disconnected.
    case withdrawn

    /// Creates the outcome of an activation whose board was run.
    public static func completed(done: Bool, output: DataItem?) -> ActivationOutcome {
        .completed(BoardResult(done: done, output: output))
    }
}

/// The reason why a barrier did not complete (Behaviour A2).
public enum BarrierCause: String, Sendable {
    /// The barrier's process answered with `done: false` or an error.
    case refused
    /// The barrier timed out.
    case timeout
    /// No process serves the barrier's board, or none any more.
    case providerLost = "provider_lost"
}

/// An error that a board's process answered with.
public struct ActivationFault: Error, Sendable, Equatable {
    /// The error message, for people.
    public var message: String
    /// The error as received: `code`, `message`, `data`.
    public var error: DataObject?
    /// The JSON texts of the message and of the error as received; nil if `message` and `error` represent the texts
    /// without loss.
    public var rawJSON: RawJSON?

    /// The JSON texts of a fault.
    public struct RawJSON: Sendable, Equatable {
        /// The message, a JSON string.
        public var message: [UInt8]
        /// The error, an object.
        public var error: [UInt8]

        public init(message: [UInt8], error: [UInt8]) {
            (self.message, self.error) = (message, error)
        }
    }

    public init(message: String, error: DataObject? = nil, rawJSON: RawJSON? = nil) {
        (self.message, self.error, self.rawJSON) = (message, error, rawJSON)
    }
}

/// The limits of one connection (Behaviour X2).
public struct ActivationLimits: Sendable, Equatable {
    /// The most boards that a connection may serve.
    public var boardsPerConnection = 1024
    /// The most running activations of a connection.
    public var activationsPerConnection = 1024
    /// The deepest chain of barriers before barriers; the activated board is 0 (Behaviour A8).
    public var depth = 8

    public init() {}
}

/// The error for a request of a connection that has as many running activations as it may have.
public struct TooManyActivations: Error, Sendable, Equatable {
    public let limit: Int
}
