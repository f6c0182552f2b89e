import HeadgateData

/// The boards of a history and their barriers and gateway (Behaviour A2, A3, A7).
struct BoardTerms {
    /// A barrier before a board.
    struct Barrier {
        let board: String
        let option: String
        let scope: String
        /// The timeout in milliseconds.
        let timeout: Int
        var passesInTime = false
        var isSticky = false

        init(_ board: String, _ record: Record) {
            self.board = board
            option = record.pick(["void", "void", "unique", "each"])
            scope = record.pick(["main", "main", "global"])
            timeout = record.pick([200, 500])
        }

        var settings: DataObject {
            [
                "board": .string(board), "option": .string(option), "scope": .string(scope),
                "timeout_ms": .number(DataNumber(timeout)),
            ]
        }

        /// The barrier as a parameter of `board.serve`.
        var json: String {
            let more = (passesInTime ? #","on_timeout":"pass""# : "") + (isSticky ? #","sticky_ms":800"# : "")
            return #"{"board":"\#(board)","option":"\#(option)","scope":"\#(scope)","timeout_ms":\#(timeout)\#(more)}"#
        }

        /// Returns true if a run of the barrier may be shared with a call.
        func isShared(by run: BoardCall, with call: BoardCall) -> Bool {
            run.board == board && (scope == "global" || run.mainboard == call.mainboard)
                && (option == "void" || run.input == call.input)
        }
    }

    let names = ["plain", "guarded", "free", "door", "gate"]
    /// The gateway before all boards except `free` and itself, or nil if there is none.
    let gateway: Barrier?
    private let door: Barrier
    /// True if `guarded` asks to bypass the gateway.
    private let bypasses: Bool
    /// True if the daemon asks a process of `guarded` to choose the barrier of each activation.
    private let isChosen: Bool

    init(_ record: Record) {
        gateway = record.oneIn(3) ? nil : Barrier("gate", record)
        var door = Barrier("door", record)
        door.passesInTime = record.oneIn(4)
        door.isSticky = record.oneIn(4)
        self.door = door
        bypasses = record.oneIn(4)
        isChosen = record.oneIn(3)
    }

    /// The settings in the configuration file.
    var settings: DataObject {
        guard let gateway else { return [:] }
        return ["gateway": ["rules": ["*": .object(gateway.settings), "free": "exempt"]]]
    }

    /// Returns the params of `board.serve`.
    func serving(_ board: String) -> String {
        guard board == "guarded" else { return #"{"board":"\#(board)"}"# }
        let barrier = isChosen ? #""ask""# : door.json
        return #"{"board":"guarded","bypass_gateway":\#(bypasses),"barrier":\#(barrier)}"#
    }

    /// The answer of a process that is asked to choose the barrier of an activation of `guarded`.
    var choice: String { #"{"barrier":\#(door.json)}"# }

    /// Returns true if a board is run as a barrier before others.
    func isBarrier(_ board: String) -> Bool { board == door.board || board == gateway?.board }

    /// Returns the barriers that must complete before a board, in order.
    func barriers(before board: String) -> [Barrier] {
        let isFree = board == "free" || board == "gate" || board == "guarded" && bypasses
        return (isFree ? [] : [gateway].compactMap(\.self)) + (board == "guarded" ? [door] : [])
    }
}

/// The parameters of an activation.
struct BoardCall: Equatable {
    let board: String
    let input: Int
    let mainboard: String
}
