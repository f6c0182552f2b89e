import HeadgateData
import HeadgateWire

/// The barrier of a board: another board that must complete first (Behaviour A2–A5).
public struct BoardBarrier: Sendable, Equatable {
    /// The activations that share one run of the barrier (Behaviour A3).
    public enum Option: String, Sendable, CaseIterable {
        /// All activations share one run.
        case void
        /// Activations whose input is the same JSON value share a run.
        case unique
        /// Each activation has its own run.
        case each
    }

    /// The activations for which one run counts (Behaviour A3).
    public enum Scope: String, Sendable, CaseIterable {
        /// Each mainboard has its own runs.
        case main
        /// A run counts for the whole service.
        case global
    }

    /// The outcome of waiting activations when a run takes too long (Behaviour A5).
    public enum OnTimeout: String, Sendable, CaseIterable {
        /// The waiting activations are cancelled.
        case cancel
        /// The waiting activations go on as if the board had completed.
        case pass
    }

    /// The board that must complete.
    public var board: String
    /// The activations that share one run.
    public var option: Option
    /// The activations for which one run counts.
    public var scope: Scope
    /// The longest time of a run with its own barriers, in whole milliseconds; nil is the daemon's 30 seconds.
    public var timeout: Duration?
    /// The outcome of waiting activations at the timeout.
    public var onTimeout: OnTimeout
    /// The time for which a completed run counts for later activations, in whole milliseconds; nil is none.
    public var sticky: Duration?

    /// Creates a barrier of this board.
    public init(
        _ board: String, option: Option = .void, scope: Scope = .main, timeout: Duration? = nil,
        onTimeout: OnTimeout = .cancel, sticky: Duration? = nil
    ) {
        self.board = board
        self.option = option
        self.scope = scope
        self.timeout = timeout
        self.onTimeout = onTimeout
        self.sticky = sticky
    }

    /// The member `barrier` of `board.serve` and of the answer to `board.barrier`.
    var object: DataObject {
        var object: DataObject = [
            "board": .string(board), "option": .string(option.rawValue), "scope": .string(scope.rawValue),
        ]
        object["timeout_ms"] = timeout.map { .number(DataNumber(Int($0.milliseconds))) }
        if onTimeout != .cancel { object["on_timeout"] = .string(onTimeout.rawValue) }
        object["sticky_ms"] = sticky.map { .number(DataNumber(Int($0.milliseconds))) }
        return object
    }
}

/// The barrier of a board that this client serves (Protocol, `board.serve`).
public enum ServedBarrier: Sendable, Equatable {
    /// The same barrier for every activation; nil for none.
    case fixed(BoardBarrier?)
    /// The daemon asks for a barrier at each activation (`"barrier": "ask"`, Behaviour A2).
    case chosen

    /// The member `barrier` of `board.serve`; nil if it is absent.
    var item: DataItem? {
        switch self {
        case .fixed(let barrier): barrier.map { .object($0.object) }
        case .chosen: "ask"
        }
    }
}

/// An activation whose barrier this client chooses (Protocol, `board.barrier`).
public struct BarrierChoice: Sendable, Equatable {
    /// The name of the board that is activated.
    public let board: String
    /// The input of the activation; nil if there is none.
    public let input: DataItem?
    /// The mainboard of the activation.
    public let mainboard: String?

    /// Reads the params of `board.barrier`; returns nil if they are malformed.
    init?(_ params: JSONView) {
        guard let board = params.member("board")?.string else { return nil }
        self.board = board
        let given = params.member("input")?.item
        input = given == .null ? nil : given
        mainboard = params.member("mainboard")?.string
    }
}
