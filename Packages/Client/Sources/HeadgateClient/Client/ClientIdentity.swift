/// Who a client says it is.
public struct ClientIdentity: Sendable, Equatable {
    /// The program's name; with the version it becomes the events' `context.client` (Behaviour P2).
    public var name: String
    /// The program's version.
    public var version: String
    /// In which the ids of events are told apart (Behaviour Q7); nil for that of the user.
    public var namespace: String?

    public init(name: String, version: String, namespace: String? = nil) {
        self.name = name
        self.version = version
        self.namespace = namespace
    }
}
