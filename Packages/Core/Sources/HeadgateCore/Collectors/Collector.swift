import HeadgateData

/// A type that adds members to the context of each event (Behaviour P2). The service has the collectors `peer`,
/// `client`, `host` and `network`; a program may add its own.
///
/// A collector is called on the scheduler for every event before the event is stored. It must be quick and must not
/// block.
public protocol Collector: AnyObject {
    /// The collector's name, by which `collectors` in the settings switches it off.
    var id: String { get }

    /// Returns the members to add to the `context` of an event. Members that the service's own collectors provide are
    /// ignored.
    /// - Throws: any error. The event continues without this collector's members, and the error is counted.
    func collect(_ origin: EventOrigin) throws -> DataObject
}

/// The origin of an event: a process and its client.
public struct EventOrigin: Sendable, Equatable {
    /// The process that sent the event, as reported by the socket.
    public var pid: Int32
    public var uid: UInt32
    public var gid: UInt32
    /// The client's name and version from `hello`: `shop/2.1`.
    public var client: String?

    public init(pid: Int32, uid: UInt32, gid: UInt32, client: String? = nil) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
        self.client = client
    }
}
