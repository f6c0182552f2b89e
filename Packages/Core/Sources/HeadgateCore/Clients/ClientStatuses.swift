import HeadgateData

/// The statuses that clients have reported, by client number.
public struct ClientStatuses: Equatable, Sendable {
    private var statuses: [Int: ApplicationStatus] = [:]

    public init() {}

    /// The last status of a client; nil if it has reported none. Set it to nil when the client disconnects.
    public subscript(client: Int) -> ApplicationStatus? {
        get { statuses[client] }
        set { statuses[client] = newValue }
    }

    /// The status of all clients together: in the foreground if a client is, exiting if one is, and in the background
    /// if all are. Nil if no client has reported a status.
    public var overall: ApplicationStatus? {
        let all = statuses.values
        if all.contains(.foreground) { return .foreground }
        if all.contains(.exiting) { return .exiting }
        return all.isEmpty ? nil : .background
    }
}
