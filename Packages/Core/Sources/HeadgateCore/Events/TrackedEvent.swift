import HeadgateData

/// An event from a client, validated but not yet accepted. Its JSON parts are views into the client's message, so that
/// they are stored as they were sent (Behaviour P6).
///
/// The views are valid only as long as the message. The event owns no memory: a copy that outlives the message must
/// copy the bytes.
public struct TrackedEvent: BitwiseCopyable {
    /// The id as a JSON string: the client's id, or a generated one.
    public var id: UnsafeRawBufferPointer
    /// The client's own id for deduplication (Behaviour Q7); nil if the id was generated.
    public var identity: Identity?
    /// The event's name, as a JSON string.
    public var name: UnsafeRawBufferPointer
    /// The time that the client gave the event; nil if none.
    public var time: Timestamp?
    /// The key for ordering, as a JSON string; nil if none.
    public var key: UnsafeRawBufferPointer?
    /// The time to live from receipt; nil if none.
    public var timeToLive: Duration?
    /// The context from the collectors, as a JSON object.
    public var context: UnsafeRawBufferPointer
    /// The event's data, as a JSON object.
    public var data: UnsafeRawBufferPointer
    /// The route: the set of dispatchers that get the event.
    public var route: RouteNumber
    /// The number of the sender's namespace in ``EventTrace/number(ofNamespace:)``; 0 if unknown.
    public var namespace: UInt32 = 0
    /// The account of the sender in the shares of the store (Behaviour Q4); 0 for none.
    public var sender: StoreShares.Number = 0

    /// A client's own id and the namespace in which it is unique.
    public struct Identity: BitwiseCopyable {
        /// The namespace, in UTF-8.
        public var namespace: UnsafeRawBufferPointer
        /// The id without escapes, in UTF-8. Lone surrogates are kept.
        public var id: UnsafeRawBufferPointer

        public init(namespace: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
            self.namespace = namespace
            self.id = id
        }
    }

    /// Creates an event without content.
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
