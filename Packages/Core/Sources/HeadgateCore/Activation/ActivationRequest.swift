import HeadgateData

/// What somebody asks of a board (Behaviour A1).
public struct ActivationRequest: Sendable, Equatable {
    /// The board to activate.
    public var board: String
    /// What the board is given; `null` where there is nothing.
    public var input = DataItem.null
    /// Whose barriers of scope `main` stand before it (Behaviour A3).
    public var mainboard: String
    /// The connection that asked; nil: the service itself.
    public var client: Int?
    /// Whether the board is run as a barrier: another process takes it over when its own goes away (Behaviour A6).
    public var isBarrier = false
    /// How long the board's process may take to answer, from when it was asked; nil: whoever asks looks after that.
    public var timeout: Duration? = .seconds(30)
    /// How long to wait for a process that serves the board (Behaviour A1); nil: as long as it takes.
    public var wait: Duration? = .zero

    public init(board: String, mainboard: String) {
        self.board = board
        self.mainboard = mainboard
    }
}
