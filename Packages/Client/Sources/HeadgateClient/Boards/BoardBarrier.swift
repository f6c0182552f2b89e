import HeadgateData
import HeadgateWire

/// What stands before a board: another board that has to complete first (Behaviour A2–A5).
public struct BoardBarrier: Sendable, Equatable {
    /// Who shares one run of it (Behaviour A3).
    public enum Option: String, Sendable, CaseIterable {
        /// Everybody shares one run.
        case void
        /// Those share a run whose input is the same JSON value.
        case unique
        /// Nobody shares a run.
        case each
    }

    /// Where one run of it counts (Behaviour A3).
    public enum Scope: String, Sendable, CaseIterable {
        /// Each mainboard has runs of its own.
        case main
        /// A run counts for the whole service.
        case global
    }

    /// What becomes of those who wait when it takes too long (Behaviour A5).
    public enum OnTimeout: String, Sendable, CaseIterable {
        /// Those who wait are cancelled.
        case cancel
        /// Those who wait go on as if the board had completed.
        case pass
    }

    /// The board that has to complete.
    public var board: String
    /// Who shares one run of it.
    public var option: Option
    /// Where one run of it counts.
    public var scope: Scope
    /// How long a run may take, with all that stands before it, to the millisecond; nil is the daemon's 30 seconds.
    public var timeout: Duration?
    /// What becomes of those who wait then.
    public var onTimeout: OnTimeout
    /// How long its completion counts for those who come later, to the millisecond; nil is not at all.
    public var sticky: Duration?

    /// A barrier of this board.
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

/// The barrier of a board that this side serves (Protocol, `board.serve`).
public enum ServedBarrier: Sendable, Equatable {
    /// The same barrier for every activation; nil for none.
    case fixed(BoardBarrier?)
    /// The daemon asks for a barrier at each activation (`"barrier": "ask"`, Behaviour A2).
    case chosen

    /// The member `barrier` of `board.serve`; nil if it is left out.
    var item: DataItem? {
        switch self {
        case .fixed(let barrier): barrier.map { .object($0.object) }
        case .chosen: "ask"
        }
    }
}

/// An activation whose barrier this side chooses (Protocol, `board.barrier`).
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
