/// The parts of the event queue that a dispatcher's queue reads.
protocol EventSource {
    /// The sequence number of the newest stored event.
    var lastStored: SequenceNumber { get }
    /// Returns the number and size of a dispatcher's unsettled events.
    func unsettled(of dispatcher: DispatcherNumber) -> Tally
    /// Returns the chunk with the events after `sequenceNumber`, or nil if it is not in memory.
    func recentChunk(after sequenceNumber: SequenceNumber) -> Chunk?
    /// Returns true if a route contains a dispatcher.
    func isRoute(_ route: RouteNumber, to dispatcher: DispatcherNumber) -> Bool
    /// Returns true if the sweeper has passed the event and settled it for all dispatchers that had not read it.
    func hasPassed(_ event: StoredEvent) -> Bool
    /// The store's maximum age of events, in milliseconds.
    var maxAge: Int64 { get }
}

extension EventSource {
    /// Returns the number of a dispatcher's unsettled events.
    func unsettledCount(of dispatcher: DispatcherNumber) -> Int { unsettled(of: dispatcher).events }
}
