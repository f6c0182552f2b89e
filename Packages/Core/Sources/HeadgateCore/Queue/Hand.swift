import HeadgateData

/// The events that a dispatcher has in hand, ascending: on their way, or waiting to be sent (again). Pure.
///
/// What is done with some of them costs by how many these are, and not by how many there are in all: an event is found by
/// halving, and what is asked for again and again (the first that waits, the next that may go, what ends first) is kept in
/// trees over the places at which events lie. Places of events that were let go are used no more, and are cleared away
/// once they are more than those that are used.
struct Hand {
    /// The number of what lies, or lay, at each place.
    private var numbers: [SequenceNumber] = []
    /// Nil where an event was let go, or where events were passed over.
    private var events: [StoredEvent?] = []
    /// Of each of these. Apart from them, so that what changes costs no look at the events.
    private var progress: [Progress] = []
    private var held = PlaceSet()
    private var waiting = PlaceSet()
    /// What waits and does not stand aside for its key.
    private var free = PlaceSet()
    /// Places without an event.
    private var holes = PlaceSet()
    /// When what waits becomes too old.
    private var ends = EndTree()
    private var keys = KeyOrder()
    /// The age at which any event is too old, as of the last look.
    private var maxAge: Int64 = .max
    private(set) var count = 0
    private(set) var inFlightCount = 0
    /// Bytes of what is not on its way.
    private(set) var waitingBytes = 0
    /// How often an event was looked at, or changed: what it costs.
    private(set) var visits = 0

    var isEmpty: Bool { count == 0 }

    /// The oldest.
    var first: QueueEntry? { held.next(from: 0).flatMap(entry) }

    /// Its number.
    var firstNumber: SequenceNumber? { held.next(from: 0).map { numbers[$0] } }

    /// The oldest that is not on its way.
    var firstWaiting: QueueEntry? { waiting.next(from: 0).flatMap(entry) }

    /// Its number.
    var firstWaitingNumber: SequenceNumber? { waiting.next(from: 0).map { numbers[$0] } }

    /// All, which is a walk over all.
    var all: [QueueEntry] { events.indices.compactMap(entry) }

    subscript(_ sequenceNumber: SequenceNumber) -> QueueEntry? {
        place(of: sequenceNumber).flatMap(entry)
    }

    private func entry(at place: Int) -> QueueEntry? {
        events[place].map { QueueEntry(event: $0, progress: progress[place]) }
    }

    // MARK: Coming

    /// Takes an event in hand, behind all others.
    mutating func append(_ event: consuming StoredEvent) {
        clearAway()
        take(event, Progress(), isFree: true)
    }

    /// What lies behind the last event in hand, up to this one, is settled, or lost.
    mutating func pass(through sequenceNumber: SequenceNumber) {
        guard let last = numbers.last, last < sequenceNumber else { return }
        if holes.contains(numbers.count - 1) {
            numbers[numbers.count - 1] = sequenceNumber
        } else {
            holes.insert(numbers.count)
            numbers.append(sequenceNumber)
            events.append(nil)
            progress.append(Progress())
        }
    }

    // MARK: Going

    /// The next event that may go behind one that was taken, and no more than up to another. One that has to wait for
    /// an older one of its key steps aside (Behaviour Q2). Of events that go in one batch none waits for another.
    /// - Parameters:
    ///   - taken: the one before it; nil to begin.
    ///   - waitsForKeys: false if one need not wait for an older one that is in flight, but only for those that do.
    mutating func nextFree(
        behind taken: SequenceNumber?, through newest: SequenceNumber, waitsForKeys: Bool = true
    ) -> QueueEntry? {
        var place = 0
        if let taken {
            place = firstPlace(behind: taken)
            comeForward(behind: taken)
        }
        while let next = free.next(from: place), numbers[next] <= newest, let entry = entry(at: next) {
            visits += 1
            if !waitsForKeys, keys.isClear { return entry }
            guard let key = entry.event.orderKey, waitsForKeys ? keys.isBusy(key) : keys.isAside(key) else {
                return entry
            }
            free.remove(next)
            keys.stepAside(entry.sequenceNumber, key)
            place = next + 1
        }
        return nil
    }

    /// Marks events as being on their way.
    mutating func markInFlight(_ sequenceNumbers: SequenceSet) {
        for place in places(of: sequenceNumbers) where waiting.contains(place) {
            progress[place].isInFlight = true
            progress[place].sends += 1
            inFlightCount += 1
            waitingBytes -= events[place]?.byteCount ?? 0
            waiting.remove(place)
            free.remove(place)
            ends.set(place, to: nil)
            if let key = events[place]?.orderKey { keys.took(key) }
        }
    }

    /// Has events wait again, if they are on their way.
    mutating func takeBack(_ sequenceNumbers: SequenceSet, _ change: (inout Progress) -> Void) {
        for place in places(of: sequenceNumbers) {
            guard let event = events[place] else { continue }
            let wasInFlight = progress[place].isInFlight
            progress[place].isInFlight = false
            change(&progress[place])
            guard wasInFlight else { continue }
            inFlightCount -= 1
            waitingBytes += event.byteCount
            wait(place, event)
            release(event, wasInFlight: true)
        }
    }

    /// Lets go of events.
    mutating func remove(_ sequenceNumbers: SequenceSet) -> [SettledEvent] {
        var removed: [SettledEvent] = []
        removed.reserveCapacity(sequenceNumbers.count)
        for place in places(of: sequenceNumbers) { remove(at: place, to: &removed) }
        if isEmpty { startOver() }
        return removed
    }

    private mutating func remove(at place: Int, to removed: inout [SettledEvent]) {
        // Moved out: a copy would count as one more owner of its chunk.
        guard let event = events[place].take() else { return }
        held.remove(place)
        holes.insert(place)
        count -= 1
        let wasInFlight = progress[place].isInFlight
        if wasInFlight {
            inFlightCount -= 1
        } else {
            waitingBytes -= event.byteCount
            waiting.remove(place)
            free.remove(place)
            ends.set(place, to: nil)
        }
        release(event, wasInFlight: wasInFlight)
        removed.append(SettledEvent(event, sends: progress[place].sends))
    }

    // MARK: Keys

    private mutating func wait(_ place: Int, _ event: StoredEvent) {
        waiting.insert(place)
        free.insert(place)
        ends.set(place, to: end(of: event))
    }

    /// An event is on its way no more, or there no more: the next of its key may go.
    private mutating func release(_ event: StoredEvent, wasInFlight: Bool) {
        guard wasInFlight || !keys.isClear, let key = event.orderKey else { return }
        if wasInFlight { keys.released(key) }
        if !keys.isBusy(key) { comeForward(key) }
    }

    /// An event is taken: the next of its key may go with it.
    private mutating func comeForward(behind taken: SequenceNumber) {
        guard !keys.isClear, let place = place(of: taken), let key = events[place]?.orderKey else { return }
        comeForward(key)
    }

    /// The first that stands aside for a key, and is still there, does so no more.
    private mutating func comeForward(_ key: EventKey) {
        while let number = keys.comeForward(key) {
            guard let place = place(of: number), waiting.contains(place) else { continue }
            return free.insert(place)
        }
    }

    // MARK: Ages

    /// When the first of what waits becomes too old; nil when nothing does.
    /// - Parameter maxAge: the age at which any event is too old.
    mutating func firstEnd(maxAge: Int64) -> Int64? {
        follow(maxAge)
        return ends.earliest
    }

    /// What waits and is too old.
    mutating func due(at stamp: Int64, maxAge: Int64) -> SequenceSet {
        follow(maxAge)
        // Mostly there is nothing.
        guard ends.firstDue(at: stamp) != nil else { return SequenceSet() }
        var places: [Int] = []
        while let place = ends.firstDue(at: stamp) {
            ends.set(place, to: nil)
            places.append(place)
        }
        visits += places.count
        return SequenceSet(places.sorted().map { numbers[$0] })
    }

    private mutating func follow(_ maxAge: Int64) {
        guard maxAge != self.maxAge else { return }
        self.maxAge = maxAge
        var place = waiting.next(from: 0)
        while let next = place {
            ends.set(next, to: events[next].map(end))
            place = waiting.next(from: next + 1)
        }
    }

    /// The sooner of the store's limit and the event's own time to live (Behaviour Q4).
    private func end(of event: borrowing StoredEvent) -> Int64 {
        let (byAge, isNever) = event.receivedStamp.addingReportingOverflow(maxAge)
        let expiry = event.header.expiryStamp
        return min(isNever ? .max : byAge, expiry == 0 ? .max : expiry)
    }

    // MARK: Looking

    /// What waits, up to an event, which is a walk over all of that.
    func waiting(through newest: SequenceNumber) -> SequenceSet {
        var found = SequenceSet()
        var place = waiting.next(from: 0)
        while let next = place, numbers[next] <= newest {
            found.append(numbers[next])
            place = waiting.next(from: next + 1)
        }
        return found
    }

    /// What is on its way, which is a walk over all.
    var inFlight: SequenceSet {
        SequenceSet(numbers.indices.lazy.filter { progress[$0].isInFlight && held.contains($0) }.map { numbers[$0] })
    }

    /// Whether something in hand lies in a stretch.
    func isAny(in stretch: ClosedRange<SequenceNumber>) -> Bool {
        held.next(from: firstPlace(behind: stretch.lowerBound - 1)).map { numbers[$0] <= stretch.upperBound } ?? false
    }

    /// What lies between events in hand and was let go, or passed over; behind the last up to `end`.
    func gaps(through end: SequenceNumber) -> [ClosedRange<SequenceNumber>] {
        var ranges: [ClosedRange<SequenceNumber>] = []
        var place = held.next(from: 0).flatMap { holes.next(from: $0) }
        while let gap = place {
            let next = held.next(from: gap)
            let (lower, upper) = (numbers[gap - 1] + 1, next.map { numbers[$0] - 1 } ?? end)
            if lower <= upper { ranges.append(lower...upper) }
            place = next.flatMap { holes.next(from: $0) }
        }
        return ranges
    }

    // MARK: Places

    /// The first place behind an event's.
    private func firstPlace(behind sequenceNumber: SequenceNumber) -> Int {
        var (low, high) = (0, numbers.count)
        // Mostly all numbers follow one another, and it is where it would be then.
        if let first = numbers.first, let guess = Int(exactly: sequenceNumber &- first), guess >= 0, guess < high,
            numbers[guess] == sequenceNumber
        {
            return guess + 1
        }
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] <= sequenceNumber { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func place(of sequenceNumber: SequenceNumber) -> Int? {
        let place = firstPlace(behind: sequenceNumber) - 1
        return place >= 0 && numbers[place] == sequenceNumber && held.contains(place) ? place : nil
    }

    /// The places of events, and of what was let go between them. Events that follow one another lie side by side, so the ends of a
    /// stretch are looked for and nothing else.
    private mutating func places(of sequenceNumbers: SequenceSet) -> some Sequence<Int> {
        visits += sequenceNumbers.count
        return sequenceNumbers.stretches.map {
            firstPlace(behind: $0.lowerBound - 1)..<firstPlace(behind: $0.upperBound)
        }.joined()
    }

    /// Gives back the places of what was let go, once there are many more of these than others. What lay between two
    /// events keeps one.
    private mutating func clearAway() {
        guard events.count > 4 * count + 64 else { return }
        var rest = Hand()
        (rest.keys, rest.maxAge, rest.visits) = (keys, maxAge, visits + events.count)
        for place in events.indices {
            guard let event = events[place] else {
                rest.pass(through: numbers[place])
                continue
            }
            rest.take(event, progress[place], isFree: free.contains(place))
        }
        self = rest
    }

    private mutating func take(_ event: consuming StoredEvent, _ progress: Progress, isFree: Bool) {
        let place = events.count
        let (bytes, end) = (event.byteCount, end(of: event))
        numbers.append(event.sequenceNumber)
        events.append(consume event)
        self.progress.append(progress)
        held.insert(place)
        count += 1
        guard !progress.isInFlight else {
            inFlightCount += 1
            return
        }
        waitingBytes += bytes
        waiting.insert(place)
        if isFree { free.insert(place) }
        ends.set(place, to: end)
    }

    /// Nothing is in hand: all places are free. The sets of those that are used are empty, and keep their memory.
    private mutating func startOver() {
        numbers.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        progress.removeAll(keepingCapacity: true)
        holes.removeAll()
        keys = KeyOrder()
    }
}
