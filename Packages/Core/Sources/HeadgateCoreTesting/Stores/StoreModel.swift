import HeadgateCore

/// What a store has to remember, told in the plainest way: every event on its own, counted one by one.
struct StoreModel {
    var dispatchers: [DispatcherNumber: StoredDispatcher] = [:]
    var routes: [RouteNumber: [DispatcherNumber]] = [:]
    var events: [StoredEvent] = []
    var recentIDs: [RecentIDs] = []
    var kept: [String: [UInt8]] = [:]
    var lastSequenceNumber: SequenceNumber = 0
    /// Ids of events up to here are forgotten.
    var forgotten: SequenceNumber = 0
    /// Groups up to here may be gone.
    var trimmed: SequenceNumber = 0

    mutating func append(_ group: AppendGroup) {
        routes.merge(group.newRoutes) { $1 }
        events += group.chunk
        lastSequenceNumber = group.chunk.lastSequenceNumber
        if let ids = group.recentIDs { recentIDs.append(ids) }
    }

    mutating func apply(_ change: StoreChange) {
        switch change {
        case .dispatcher(let dispatcher): dispatchers[dispatcher.number] = dispatcher
        case .forgetDispatcher(let number): dispatchers[number] = nil
        case .settled(let number, let settled): dispatchers[number]?.settled = settled
        case .deadLetter, .limitLetters: break
        case .trim(let through): trimmed = max(trimmed, through)
        case .forgetRoutes(let numbers): for number in numbers { routes[number] = nil }
        case .forgetIDs(let through):
            forgotten = max(forgotten, through)
            recentIDs.removeAll { $0.lastSequenceNumber <= through }
        case .keep(let name, let value): kept[name] = value
        }
    }

    /// The numbers of the events behind a place.
    func numbers(after place: SequenceNumber) -> [SequenceNumber] {
        events.map(\.sequenceNumber).filter { $0 > place }
    }

    /// The same for those that some dispatcher has not settled.
    func needed(after place: SequenceNumber) -> [SequenceNumber] {
        events.filter { $0.sequenceNumber > max(place, trimmed) && isNeeded($0) }.map(\.sequenceNumber)
    }

    private func isNeeded(_ event: StoredEvent) -> Bool {
        (routes[event.route] ?? []).contains { dispatchers[$0]?.settled.contains(event.sequenceNumber) == false }
    }

    var unsettled: [DispatcherNumber: RouteTallies] {
        dispatchers.mapValues { dispatcher in
            var tallies: RouteTallies = [:]
            for event in events
            where !dispatcher.settled.contains(event.sequenceNumber)
                && routes[event.route]?.contains(dispatcher.number) == true
            {
                tallies.add(event)
            }
            return tallies
        }
    }

    /// What all dispatchers have settled.
    var settled: SequenceNumber {
        dispatchers.values.map(\.position).min() ?? 0
    }
}
