import HeadgateData
import HeadgateWire

/// Reports about a board that this client serves (Protocol, `board.serve`; Behaviour A1).
public enum BoardNews {
    /// The daemon has the board, for the first time or again.
    case began
    /// The board should run. Answer the request with `complete` or `fail`.
    case run(BoardActivation, DaemonRequest)
    /// An activation needs its barrier (``ServedBarrier/chosen``). Answer the request with `choose` or `fail`.
    case choose(BarrierChoice, DaemonRequest)
    /// The connection is lost for this reason, and with it the runs without an answer. The board is served again on
    /// the next connection.
    case interrupted(ClientError)
    /// The board is no longer served: the daemon refused it, did not come back in time, or the connection was closed.
    /// A `CancellationError` after `unserve`.
    case ended(any Error)
}

extension DaemonRequest {
    /// Answers with the outcome of a run.
    public func complete(_ outcome: BoardOutcome) {
        answer(outcome.object)
    }

    /// Answers with the barrier of an activation; nil for none.
    public func choose(_ barrier: BoardBarrier?) {
        answer(barrier.map { ["barrier": .object($0.object)] } ?? [:])
    }
}

/// An activation of a board that this client serves (Behaviour A1, Protocol `board.run`).
public struct BoardActivation: Sendable, Equatable {
    /// The name of the board.
    public let board: String
    /// The daemon's name for this run.
    public let activation: String
    /// The input of the activation; nil if there is none.
    public let input: DataItem?
    /// The mainboard whose barriers the activation passed: the name in the activation, or the namespace of its
    /// connection.
    public let mainboard: String?
    /// True if the board runs as a barrier of another board or a dispatcher (Behaviour A2, A9).
    public let isBarrier: Bool

    /// Reads the params of `board.run`. Returns nil if they are malformed.
    init?(_ params: JSONView) {
        guard let board = params.member("board")?.string else { return nil }
        self.board = board
        activation = params.member("activation")?.string ?? ""
        let given = params.member("input")?.item
        input = given == .null ? nil : given
        mainboard = params.member("mainboard")?.string
        isBarrier = params.member("as_barrier")?.bool ?? false
    }
}

/// The outcome of a board's run (Behaviour A1).
public struct BoardOutcome: Sendable, Equatable {
    /// True if the board completed. Activations that wait for it go on only then (Behaviour A2).
    public var isDone: Bool
    /// The output; nil if there is none.
    public var output: DataItem?

    /// The board completed without an output.
    public static let done = BoardOutcome(isDone: true)
    /// The board did not complete.
    public static let refused = BoardOutcome(isDone: false)

    /// Returns the outcome of a board that completed with this output.
    public static func done(_ output: DataItem?) -> BoardOutcome {
        BoardOutcome(isDone: true, output: output)
    }

    /// Creates an outcome.
    public init(isDone: Bool, output: DataItem? = nil) {
        self.isDone = isDone
        self.output = output
    }

    /// Reads the result of `board.activate`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let isDone = result.get(key: "done", as: Bool.self) else {
            throw .badAnswer("the result of board.activate has no done")
        }
        self.init(isDone: isDone, output: result["output"])
    }

    /// The answer to `board.run`.
    var object: DataObject {
        var object: DataObject = ["done": .bool(isDone)]
        object["output"] = output
        return object
    }
}
