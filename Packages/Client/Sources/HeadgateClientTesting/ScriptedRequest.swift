import HeadgateData

/// A request that a ``ScriptedDaemon`` got.
public struct ScriptedRequest: Sendable {
    /// Its place among all requests but `hello`, from 1 on, over all connections.
    public let number: Int
    /// The place of its connection among all, from 1 on.
    public let connection: Int
    /// The method's name.
    public let method: String
    /// The params; empty if there are none.
    public let params: DataObject
}
