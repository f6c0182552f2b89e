/// The reason for a failed operation of a store. The message is meant for the log and is never sent to clients.
public enum StoreFault: Error, Equatable, Sendable {
    /// The disk is full. Room that becomes free is used without a restart (Behaviour Q8).
    case noRoom(String)
    /// Another daemon uses the data directory (Behaviour Q9).
    case inUse(String)
    /// The data were written by a newer version. They are left unchanged.
    case newerVersion(String)
    /// The data are encrypted, and the key is missing or another one. They are left unchanged (Behaviour C2).
    case locked(String)
    /// Any other failure.
    case failed(String)

    /// A group cannot be stored because the group that it depends on is missing (``AppendGroup/behind``).
    public static let predecessorMissing = StoreFault.failed("events before these could not be stored")

    /// The description of the failure, for people.
    public var message: String {
        switch self {
        case .noRoom(let message), .inUse(let message), .newerVersion(let message), .locked(let message),
            .failed(let message):
            message
        }
    }
}
