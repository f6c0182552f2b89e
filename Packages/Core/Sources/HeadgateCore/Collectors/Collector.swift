import HeadgateData

/// Adds to each event what is known of the moment and the place it comes from (Behaviour P2). A program brings its own;
/// the service's are `peer`, `client`, `host` and `network`.
///
/// It is asked on the scheduler for every event, before the event is stored: it must be quick, and must not wait.
public protocol Collector: AnyObject {
    /// Its name, by which `collectors` in the settings switches it off.
    var id: String { get }

    /// What it adds to the `context` of an event. A member that the service's own collectors have is not taken.
    /// - Throws: anything; the event goes on without this collector's part, and the error is counted.
    func collect(_ origin: EventOrigin) throws -> DataObject
}

/// Where an event comes from, as a collector is told.
public struct EventOrigin: Sendable, Equatable {
    /// The process that sent it, as the socket tells it.
    public var pid: Int32
    public var uid: UInt32
    public var gid: UInt32
    /// The client as it named itself in `hello`: `shop/2.1`.
    public var client: String?

    public init(pid: Int32, uid: UInt32, gid: UInt32, client: String? = nil) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
        self.client = client
    }
}
