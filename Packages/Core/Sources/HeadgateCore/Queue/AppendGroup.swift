/// Events that are committed together (Behaviour Q5). It is a class so that handing it on copies nothing.
public final class AppendGroup: Sendable {
    public let chunk: Chunk
    /// The newest event of the group that this group depends on; 0 if it depends on none. Events of this group may be
    /// duplicates of that group's events, so a store that failed to store that group must not store this one.
    public let behind: SequenceNumber
    /// The events of the chunk by route, so that a start can count events without reading them.
    public let tallies: RouteTallies
    /// The times at which its events become too old.
    public let ages: GroupAges
    /// Routes that are used for the first time, with their dispatchers.
    public let newRoutes: [RouteNumber: [DispatcherNumber]]
    /// State that must be saved with the events at the latest. State that the store already has is not overwritten,
    /// except for the time since when a dispatcher is gone.
    public let initialState: InitialState
    /// The clients' own ids of the events; nil if there are none.
    public let recentIDs: RecentIDs?
    /// The ids of events up to this sequence number are forgotten. A store may delete them gradually.
    public let forgottenIDs: SequenceNumber
    /// Dead letters whose events are in the chunk again. They are deleted in the same commit, so that a crash neither
    /// loses an event nor sends it twice (Behaviour D10). A dead letter that does not exist any more is not a fault.
    public let requeued: [DeadLetterNumber]

    public init(
        chunk: Chunk, behind: SequenceNumber = 0, tallies: RouteTallies, ages: GroupAges,
        newRoutes: [RouteNumber: [DispatcherNumber]], initialState: InitialState = InitialState(),
        recentIDs: RecentIDs?,
        forgottenIDs: SequenceNumber = 0, requeued: [DeadLetterNumber] = []
    ) {
        self.chunk = chunk
        self.behind = behind
        self.tallies = tallies
        self.ages = ages
        self.newRoutes = newRoutes
        self.initialState = initialState
        self.recentIDs = recentIDs
        self.forgottenIDs = forgottenIDs
        self.requeued = requeued
    }
}
