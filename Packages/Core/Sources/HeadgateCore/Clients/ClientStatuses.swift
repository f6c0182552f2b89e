import HeadgateData

/// The statuses that clients announced, by a number of each client's own.
public struct ClientStatuses: Equatable, Sendable {
    private var statuses: [Int: ApplicationStatus] = [:]

    public init() {}

    /// What a client announced last; nil before it has announced anything, and to be set when it is gone.
    public subscript(client: Int) -> ApplicationStatus? {
        get { statuses[client] }
        set { statuses[client] = newValue }
    }

    /// All clients that announced a status, taken together: in the foreground when one is; in the background when all
    /// are; nil when there is none.
    public var overall: ApplicationStatus? {
        let all = statuses.values
        if all.contains(.foreground) { return .foreground }
        if all.contains(.exiting) { return .exiting }
        return all.isEmpty ? nil : .background
    }
}
