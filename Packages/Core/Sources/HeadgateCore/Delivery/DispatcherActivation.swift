import HeadgateData

/// The board that has to complete before a dispatcher gets anything (Behaviour A9).
public struct DispatcherActivation: Sendable, Equatable {
    public var board: String
    /// How long its completion counts; nil: until a 401 or a restart.
    public var sticky: Duration?
    /// What the board has to put out, by the members' names: the dispatcher cannot send without.
    public var outputs: Set<String> = []

    public init(board: String, sticky: Duration? = nil) {
        self.board = board
        self.sticky = sticky
    }
}

extension DispatcherActivation {
    /// As the settings have it.
    var configuration: DataObject {
        var configuration: DataObject = ["board": .string(board)]
        if let sticky { configuration["sticky_ms"] = .number(DataNumber(Int(sticky.wholeMilliseconds))) }
        return configuration
    }
}
