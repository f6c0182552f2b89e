import HeadgateData

/// An event as a client tracked it, checked but not yet accepted. What is JSON stays in the bytes it came in, so that it
/// arrives as it was sent (Behaviour P6); the views are only valid while the client's message is. It owns nothing: to copy it is
/// to copy its bytes.
public struct TrackedEvent: BitwiseCopyable {
    /// The id's JSON string: the client's, else one that the service made.
    public var id: UnsafeRawBufferPointer
    /// What the id is told apart by in its namespace, for a client's own id (Behaviour Q7); nil for one that was made here.
    public var identity: Identity?
    /// The event's name, as a JSON string.
    public var name: UnsafeRawBufferPointer
    /// The client's own time.
    public var time: Timestamp?
    /// The key that keeps order, as a JSON string.
    public var key: UnsafeRawBufferPointer?
    /// How long the event is of use, from its receipt.
    public var timeToLive: Duration?
    /// The context that collectors made, as a JSON object.
    public var context: UnsafeRawBufferPointer
    /// The event's data, as a JSON object.
    public var data: UnsafeRawBufferPointer
    /// The dispatchers that want it.
    public var route: RouteNumber
    /// The namespace of who sent it, as ``EventTrace/number(ofNamespace:)`` numbers it; 0: not told.
    public var namespace: UInt32 = 0

    /// A client's own id and the namespace in which it is unique.
    public struct Identity: BitwiseCopyable {
        /// The namespace, in UTF-8.
        public var namespace: UnsafeRawBufferPointer
        /// The id, unescaped, in UTF-8; half a surrogate pair is kept as it is.
        public var id: UnsafeRawBufferPointer

        public init(namespace: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
            self.namespace = namespace
            self.id = id
        }
    }

    /// An event of which nothing is known yet.
    @inlinable
    public init() {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        (id, name, context, data, route) = (nothing, nothing, nothing, nothing, 0)
    }

    public init(
        id: UnsafeRawBufferPointer, identity: Identity?, name: UnsafeRawBufferPointer, time: Timestamp?,
        key: UnsafeRawBufferPointer?, timeToLive: Duration?, context: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer, route: RouteNumber
    ) {
        self.id = id
        self.identity = identity
        self.name = name
        self.time = time
        self.key = key
        self.timeToLive = timeToLive
        self.context = context
        self.data = data
        self.route = route
    }
}
