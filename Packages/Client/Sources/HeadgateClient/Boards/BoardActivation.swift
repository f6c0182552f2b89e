import HeadgateData
import HeadgateWire

/// A board that this client serves is to be run (Behaviour A1, Protocol `board.run`).
public struct BoardActivation: Sendable, Equatable {
    /// The board.
    public let board: String
    /// The daemon's name for this run.
    public let activation: String
    /// What whoever activated it gave; nil for nothing.
    public let input: DataItem?
    /// Whose barriers stand before it: a name that whoever activated it gave, or their connection's namespace.
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
