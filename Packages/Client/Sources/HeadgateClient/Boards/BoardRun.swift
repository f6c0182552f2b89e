import HeadgateData
import HeadgateWire

/// What is told of a board that this side serves (Protocol, `board.serve`; Behaviour A1).
public enum BoardNews {
    /// The daemon knows of it, for the first time or again.
    case began
    /// The board is to be run; the request wants its answer: `complete`, or `fail`.
    case run(BoardActivation, DaemonRequest)
    /// An activation needs its barrier (``ServedBarrier/chosen``); the request wants its answer: `choose`, or `fail`.
    case choose(BarrierChoice, DaemonRequest)
    /// The connection is gone, for this reason, and with it the runs that were not answered. The next one is looked
    /// for, on which the board is served again.
    case interrupted(ClientError)
    /// The board is served no more: the daemon refused, did not come back in time, or the connection was closed. After
    /// `unserve` it is a `CancellationError`.
    case ended(any Error)
}

extension DaemonRequest {
    /// Says what came of a board's run.
    public func complete(_ outcome: BoardOutcome) {
        answer(outcome.object)
    }

    /// Chooses the barrier of an activation; nil for none.
    public func choose(_ barrier: BoardBarrier?) {
        answer(barrier.map { ["barrier": .object($0.object)] } ?? [:])
    }
}

/// A board that this client serves is to be run (Behaviour A1, Protocol `board.run`).
public struct BoardActivation: Sendable, Equatable {
    /// The name of the board that is run.
    public let board: String
    /// The daemon's name for this run.
    public let activation: String
    /// What whoever activated it gave; nil for nothing.
    public let input: DataItem?
    /// The mainboard whose barriers stand before the board: the name that whoever activated it gave, or the namespace
    /// of their connection.
    public let mainboard: String?
    /// Whether it is run as a barrier before another board or a dispatcher (Behaviour A2, A9).
    public let isBarrier: Bool

    /// Reads the params of `board.run`; nil when they are not of the protocol.
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

/// What came of a board that was run (Behaviour A1).
public struct BoardOutcome: Sendable, Equatable {
    /// Whether the board did what it is for. What waits for it goes on only then (Behaviour A2).
    public var isDone: Bool
    /// What it hands out; nil is nothing.
    public var output: DataItem?

    /// The board did what it is for, and hands out nothing.
    public static let done = BoardOutcome(isDone: true)
    /// The board did not do what it is for.
    public static let refused = BoardOutcome(isDone: false)

    /// The board did what it is for, and hands this out.
    public static func done(_ output: DataItem?) -> BoardOutcome {
        BoardOutcome(isDone: true, output: output)
    }

    /// An outcome.
    public init(isDone: Bool, output: DataItem? = nil) {
        self.isDone = isDone
        self.output = output
    }

    /// Reads the result of `board.activate`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let isDone = result.get(key: "done", as: Bool.self) else {
            throw .badAnswer("a result of board.activate without done")
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
