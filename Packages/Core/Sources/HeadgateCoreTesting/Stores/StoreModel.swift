import HeadgateCore

/// A simple model of a store's contents: every event is kept and counted by itself.
struct StoreModel {
    var dispatchers: [DispatcherNumber: StoredDispatcher] = [:]
    var routes: [RouteNumber: [DispatcherNumber]] = [:]
    var events: [StoredEvent] = []
    var recentIDs: [RecentIDs] = []
    var kept: [String: [UInt8]] = [:]
    var lastSequenceNumber: SequenceNumber = 0
    /// The ids of events up to this one are forgotten.
    var forgotten: SequenceNumber = 0
    /// Groups up to this event may be gone.
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
        case .deadLetter, .limitDeadLetters: break
        case .trim(let through): trimmed = max(trimmed, through)
        case .forgetRoutes(let numbers): for number in numbers { routes[number] = nil }
        case .forgetIDs(let through):
            forgotten = max(forgotten, through)
            recentIDs.removeAll { $0.lastSequenceNumber <= through }
        case .retain: break
        case .keep(let name, let value): kept[name] = value
        }
    }

    /// Returns the numbers of the events after `position`.
    func numbers(after position: SequenceNumber) -> [SequenceNumber] {
        events.map(\.sequenceNumber).filter { $0 > position }
    }

    /// Returns the numbers of the events after `position` that at least one dispatcher has not settled.
    func needed(after position: SequenceNumber) -> [SequenceNumber] {
        events.filter { $0.sequenceNumber > max(position, trimmed) && isNeeded($0) }.map(\.sequenceNumber)
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

    /// The event up to which all dispatchers have settled everything.
    var settled: SequenceNumber {
        dispatchers.values.map(\.position).min() ?? 0
    }
}
