import HeadgateCore
import HeadgateWire

/// The server of a session, as far as the session needs it.
protocol SessionServer: AnyObject {
    var gate: Headgate { get }
    var tracking: EventTracker { get }
    var collecting: ContextCollectors { get }
    var decoder: MessageDecoder { get }
    var log: Log { get }
    /// The shares of users in a turn of the loop.
    var turns: UserTurns { get }
    var limits: Limits { get }
    var access: AccessSettings { get }

    /// Runs a request that is not on the hot path.
    func run(_ method: JSONView, _ call: Call) throws(RPCError)
    func count(_ counter: ConnectionCounter)
    /// Notes that a session has written output, which its client may leave unread.
    func outputWritten()
    /// Notes that a client has read all its output.
    func outputDrained(_ session: Session)
    /// Ends the watches, barriers, subscriptions or served boards that a session has by a right that it has lost.
    /// - Returns: true if the session had anything by this right.
    func withdraw(_ group: MethodGroup, from session: Session) -> Bool
    /// Ends the subscriptions of a client to dispatchers whose settings exclude it now.
    /// - Returns: true if the client had such a subscription.
    func dismissExcludedWorker(_ session: Session) -> Bool
    /// Cancels the activations of a client that has disconnected.
    func askingClientLeft(_ session: Session)
    /// Ends the boards, the subscriptions and the open peer requests of a client that sends nothing more.
    func servingClientLeft(_ session: Session)
    /// Releases a session whose connection has closed.
    func ended(_ session: Session)
}
