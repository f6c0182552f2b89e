import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("The buffer of events")
struct EventBufferTests {
    /// A simple model of ``EventBuffer`` that searches its lists for each question.
    private struct Model {
        var entries: [(event: StoredEvent, isInFlight: Bool)] = []
        /// Settled events that were removed after the first buffered event.
        var gone: Set<SequenceNumber> = []

        func key(_ event: StoredEvent) -> EventKey? { event.orderKey }

        /// Behaviour Q2: pending events without an older event of their key in flight.
        var free: [SequenceNumber] {
            entries.filter { entry in
                !entry.isInFlight
                    && !entries.contains { older in
                        older.isInFlight && older.event.orderKey != nil && older.event.orderKey == entry.event.orderKey
                    }
            }.map(\.event.sequenceNumber)
        }

        func end(_ event: StoredEvent, _ maxAge: Int64) -> Int64 {
            let expiry = event.header.expiryStamp
            return min(event.receivedStamp + maxAge, expiry == 0 ? .max : expiry)
        }
    }

    /// Returns stored events with keys and times to live.
    private static func events(_ random: inout SeededRandom, count: Int) throws -> [StoredEvent] {
        let bench = GateBench()
        for _ in 0..<count {
            var draft = EventDraft()
            draft.key = ["x", "y", "z", nil, nil].randomElement(using: &random) ?? nil
            if random.oneIn(3) { draft.timeToLive = .milliseconds(Int.random(in: 1...5000, using: &random)) }
            bench.track(1, draft)
            bench.advance(by: .milliseconds(Int.random(in: 0...20, using: &random)))
        }
        var events: [StoredEvent] = []
        while let chunk = bench.gate.events.recentChunk(after: events.last?.sequenceNumber ?? 0) {
            events += Array(chunk)
        }
        try #require(events.count == count)
        return events
    }

    private static func taken(_ buffer: inout EventBuffer, _ most: Int, through newest: SequenceNumber)
        -> [SequenceNumber]
    {
        var last: SequenceNumber?
        var numbers: [SequenceNumber] = []
        while numbers.count < most, let next = buffer.nextFree(behind: last, through: newest) {
            numbers.append(next.sequenceNumber)
            last = next.sequenceNumber
        }
        return numbers
    }

    @Test("Q2, Q4, Q6: under random operations the buffer agrees with a simple list")
    func model() throws {
        for seed: UInt64 in 1...12 {
            var random = SeededRandom(seed: seed)
            var events = try EventBufferTests.events(&random, count: 250)[...]
            var (buffer, model) = (EventBuffer(), Model())
            for step in 0..<300 {
                try check(&buffer, model, &random, "seed \(seed), step \(step)")
                move(&buffer, &model, &events, &random)
            }
        }
    }

    private func move(
        _ buffer: inout EventBuffer, _ model: inout Model, _ events: inout ArraySlice<StoredEvent>,
        _ random: inout SeededRandom
    ) {
        let numbers = model.entries.map(\.event.sequenceNumber).filter { _ in random.oneIn(3) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
            guard let event = events.popFirst() else { return }
            guard random.oneIn(8) else {
                buffer.append(event)
                return model.entries.append((event, false))
            }
            buffer.pass(through: event.sequenceNumber)
            if !model.entries.isEmpty { model.gone.insert(event.sequenceNumber) }
        case 2, 3:
            let batch = Array(model.free.prefix(Int.random(in: 1...4, using: &random)))
            buffer.markInFlight(SequenceSet(batch))
            for index in model.entries.indices where batch.contains(model.entries[index].event.sequenceNumber) {
                model.entries[index].isInFlight = true
            }
        case 4:
            buffer.takeBack(SequenceSet(numbers)) { $0.attempts += 1 }
            for index in model.entries.indices where numbers.contains(model.entries[index].event.sequenceNumber) {
                model.entries[index].isInFlight = false
            }
        default:
            let removed = buffer.remove(SequenceSet(numbers)).map(\.sequenceNumber)
            model.entries.removeAll { numbers.contains($0.event.sequenceNumber) }
            model.gone.formUnion(removed)
            let first = model.entries.first?.event.sequenceNumber ?? .max
            model.gone = model.gone.filter { $0 > first }
        }
    }

    private func check(
        _ buffer: inout EventBuffer, _ model: Model, _ random: inout SeededRandom, _ comment: Comment
    ) throws {
        let all = model.entries.map(\.event.sequenceNumber)
        let waiting = model.entries.filter { !$0.isInFlight }
        try #require(buffer.all.map(\.sequenceNumber) == all, comment)
        try #require(buffer.count == all.count && buffer.inFlightCount == all.count - waiting.count, comment)
        try #require(buffer.first?.sequenceNumber == all.first, comment)
        try #require(buffer.firstWaiting?.sequenceNumber == waiting.first?.event.sequenceNumber, comment)
        let newest = random.oneIn(4) ? (all.randomElement(using: &random) ?? 0) : .max
        try #require(
            EventBufferTests.taken(&buffer, .max, through: newest) == model.free.filter { $0 <= newest }, comment)
        // The gaps cover every event that was removed, and no event that is buffered.
        let ranges = buffer.gaps(through: all.last.map { max($0, model.gone.max() ?? 0) } ?? 0)
        try #require(all.allSatisfy { number in !ranges.contains { $0.contains(number) } }, comment)
        try #require(model.gone.allSatisfy { number in ranges.contains { $0.contains(number) } }, comment)
        let maxAge: Int64 = random.oneIn(10) ? 2000 : 3000
        let ends = waiting.map { model.end($0.event, maxAge) }
        try #require(buffer.firstEnd(maxAge: maxAge) == ends.min(), comment)
        let stamp = ends.randomElement(using: &random) ?? 0
        var copy = buffer
        let due = waiting.filter { model.end($0.event, maxAge) <= stamp }.map(\.event.sequenceNumber)
        try #require(Array(copy.due(at: stamp, maxAge: maxAge)) == due, comment)
    }

    @Test("Q6: a set of indices finds the same next index as a plain set", arguments: [1, 64, 5000, 300_000])
    func members(size: Int) {
        var random = SeededRandom(seed: UInt64(size))
        var (members, model) = (IntegerSet(), Set<Int>())
        for _ in 0..<2000 {
            let comment = Int.random(in: 0..<size, using: &random)
            if random.oneIn(2) {
                members.insert(comment)
                model.insert(comment)
            } else {
                members.remove(comment)
                model.remove(comment)
            }
            let from = Int.random(in: 0..<size, using: &random)
            #expect(members.next(from: from) == model.filter { $0 >= from }.min())
            #expect(members.contains(from) == model.contains(from))
        }
    }

    @Test(
        "Q6: the cost of an answer depends on its batch, not on other buffered events",
        arguments: [(10, nil as String?), (1000, nil), (1000, "hot")])
    func cost(batches: Int, key: String?) throws {
        let bench = GateBench {
            $0.inFlight = batches
            $0.dispatchLimit = 20
        }
        bench.track(batches * 20 + 20_000, EventDraft(key: key))
        let dispatcher = try #require(bench.gate.dispatchers["collect"])
        bench.settle()
        #expect(bench.sender.outstanding.count == (key == nil ? batches : 1))
        #expect(dispatcher.queue.count >= batches * 20)
        for result in [SendResult.delivered, .delivered, .status(503), .delivered] {
            bench.advance(by: .seconds(1))
            let before = dispatcher.queue.visits
            bench.sender.answer(result)
            bench.settle()
            // The visits include those of the events buffered in their place, and of occasional compaction.
            #expect(dispatcher.queue.visits - before < 20 * 20)
        }
    }
}
