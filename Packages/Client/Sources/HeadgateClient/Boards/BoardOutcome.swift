import HeadgateData

/// What came of a board that was run (Behaviour A1).
public struct BoardOutcome: Sendable, Equatable {
    /// Whether the board did what it is for. What waits for it goes on only then (Behaviour A2).
    public var isDone: Bool
    /// What it hands out; nil is nothing.
    public var output: DataItem?

    /// It did what it is for.
    public static let done = BoardOutcome(isDone: true)
    /// It did not.
    public static let refused = BoardOutcome(isDone: false)

    /// It did what it is for, and hands this out.
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
