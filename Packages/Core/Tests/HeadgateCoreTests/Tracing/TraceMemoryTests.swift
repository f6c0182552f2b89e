import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("The memory of a trace") struct TraceMemoryTests {
    private typealias Ended = (number: SequenceNumber, sends: Int)

    private func wall(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    /// Stores events with consecutive sequence numbers and the given ids in one namespace.
    private func store(
        _ ids: [String], from first: SequenceNumber, in memory: inout TraceMemory, namespace: UInt32 = 1
    ) {
        var group = TraceGroup(expecting: ids.count)
        for (index, id) in ids.enumerated() {
            let number = first + SequenceNumber(index)
            Array(id.utf8).withUnsafeBytes { id in
                Array(#""order \u00e9""#.utf8).withUnsafeBytes { name in
                    memory.accepted(
                        id: id, name: name, number, receivedAt: wall(number * 1_000), route: 1, namespace: namespace,
                        in: &group)
                }
            }
        }
        memory.stored(group)
    }

    private func settle(
        _ events: [Ended], by dispatcher: DispatcherNumber, as end: DeliveryOutcome, at moment: Int64,
        in memory: inout TraceMemory, cause: (SequenceNumber) -> UInt32
    ) {
        let settled = events.map {
            SettledEvent(
                sequenceNumber: $0.number, route: 1, tally: .zero, receivedStamp: 0, sends: UInt32($0.sends))
        }
        memory.settled(settled, by: dispatcher, as: end, at: wall(moment), cause: cause)
    }

    @Test("O2: an id is found with any escapes, together with name, receipt, route and namespace")
    func found() {
        var memory = TraceMemory(capacity: 8, seed: 1)
        store([#""a""#, #""b\u0062\"""#], from: 5, in: &memory)
        #expect(
            memory.events(of: #"bb""#) == [
                .init(sequenceNumber: 6, receivedAt: wall(6_000), route: 1, name: "order é", namespace: 1)
            ])
        #expect(memory.events(of: "b").isEmpty)
        #expect(memory.oldest == 5)
    }

    @Test("O2: two events with one id are both found")
    func twice() {
        var memory = TraceMemory(capacity: 8, seed: 1)
        store([#""a""#, #""b""#, #""a""#], from: 1, in: &memory)
        #expect(memory.events(of: "a").map(\.sequenceNumber) == [1, 3])
    }

    @Test("X3: texts keep their numbers when the numbers begin again after the highest one")
    func numbersBeginAgain() {
        var texts = InternedTexts(most: 2, hash: TraceHash(seed: 1), first: .max - 4)
        var numbers: [UInt32] = []
        for index in 0..<12 {
            numbers.append(texts.number(of: "name \(index)"))
            for known in max(0, index - 2)...index { #expect(texts[numbers[known]] == "name \(known)") }
        }
        #expect(!numbers.contains(0) && numbers[11] < 12)
    }

    @Test("O2: events that ended together share one row, with time, attempts and failure")
    func outcomes() {
        var memory = TraceMemory(capacity: 100, seed: 1)
        store((1...9).map { #""\#($0)""# }, from: 1, in: &memory)
        settle((1...5).map { ($0, 1) }, by: 7, as: .delivered, at: 3, in: &memory) { _ in 9 }
        settle([(6, 2)], by: 7, as: .dead, at: 4, in: &memory) { _ in 9 }
        #expect(
            memory.outcome(of: 4, for: 7)
                == .init(first: 1, count: 5, sends: 1, cause: 0, end: .delivered, at: 3))
        #expect(memory.outcome(of: 6, for: 7) == .init(first: 6, count: 1, sends: 2, cause: 9, end: .dead, at: 4))
        #expect(memory.outcome(of: 7, for: 7) == nil && memory.outcome(of: 4, for: 8) == nil)
        memory.forget(7)
        #expect(memory.outcome(of: 4, for: 7) == nil)
    }

    @Test("O2: with trace.remember 0 nothing is remembered, and with a smaller value the newest are kept")
    func capacity() {
        var memory = TraceMemory(capacity: 0, seed: 1)
        store([#""a""#], from: 1, in: &memory)
        #expect(memory.events(of: "a").isEmpty && memory.oldest == nil)
        memory.setCapacity(4)
        store((2...7).map { #""\#($0)""# }, from: 2, in: &memory)
        memory.setCapacity(2)
        #expect(memory.oldest == 6 && memory.events(of: "5").isEmpty && memory.events(of: "7").count == 1)
        store([#""8""#], from: 8, in: &memory)
        #expect(memory.oldest == 7)
    }

    /// A simple model of ``TraceMemory``.
    private struct Model {
        var capacity: Int
        var events: [(number: SequenceNumber, id: String, namespace: UInt32)] = []
        var ended: [DispatcherNumber: [SequenceNumber: (sends: Int, end: DeliveryOutcome, at: Int64, cause: UInt32)]] =
            [:]

        var oldest: SequenceNumber? { events.first?.number }

        mutating func trim() { events.removeFirst(max(0, events.count - capacity)) }
    }

    @Test("O2: random histories agree with a simple model", arguments: Seeds.first(30))
    func model(_ seed: Seed) {
        var chance = SeededRandom(seed: seed)
        var model = Model(capacity: Int.random(in: 1...40, using: &chance))
        var memory = TraceMemory(capacity: model.capacity, seed: chance.next())
        var next: SequenceNumber = 1
        for _ in 0..<300 {
            switch Int.random(in: 0...9, using: &chance) {
            case 0...3:
                let ids = (0..<Int.random(in: 1...6, using: &chance)).map { _ in
                    "id\(Int.random(in: 0...30, using: &chance))"
                }
                let namespace = UInt32.random(in: 1...3, using: &chance)
                store(ids.map { "\"\($0)\"" }, from: next, in: &memory, namespace: namespace)
                for id in ids {
                    model.events.append((next, id, namespace))
                    next += 1
                }
                model.trim()
                // A failed group leaves a gap in the sequence numbers.
                if chance.oneIn(4) { next += 3 }
            case 4...8:
                settleSome(&memory, &model, through: next, &chance)
            default:
                model.capacity = Int.random(in: 1...40, using: &chance)
                memory.setCapacity(model.capacity)
                model.trim()
            }
            compare(memory, model, seed)
        }
    }

    private func settleSome(
        _ memory: inout TraceMemory, _ model: inout Model, through next: SequenceNumber, _ chance: inout SeededRandom
    ) {
        let dispatcher = DispatcherNumber.random(in: 1...3, using: &chance)
        let ended = model.events.filter { _ in chance.oneIn(3) }.map(\.number)
            .filter { model.ended[dispatcher]?[$0] == nil }
        let sends = Int.random(in: 0...3, using: &chance)
        let end: DeliveryOutcome = chance.oneIn(2) ? .delivered : .dead
        let at = Int64.random(in: 1...5, using: &chance)
        settle(ended.map { Ended($0, sends) }, by: dispatcher, as: end, at: at, in: &memory) { UInt32($0 % 2) }
        for number in ended {
            let cause = sends == 0 || end == .delivered && sends == 1 ? 0 : UInt32(number % 2)
            model.ended[dispatcher, default: [:]][number] = (sends, end, at, cause)
        }
    }

    private func compare(_ memory: TraceMemory, _ model: Model, _ seed: Seed) {
        #expect(memory.oldest == model.oldest, "\(seed)")
        for number in 0...30 {
            let expected = model.events.filter { $0.id == "id\(number)" }
            let found = memory.events(of: "id\(number)")
            #expect(found.map(\.sequenceNumber) == expected.map(\.number), "\(seed)")
            #expect(found.map(\.namespace) == expected.map(\.namespace), "\(seed)")
        }
        for event in model.events {
            for dispatcher in 1...3 as ClosedRange<DispatcherNumber> {
                let line = memory.outcome(of: event.number, for: dispatcher)
                let expected = model.ended[dispatcher]?[event.number]
                #expect(line.map { Int($0.sends) } == expected?.sends, "\(seed): \(event.number)")
                #expect(
                    line?.end == expected?.end && line?.at == expected?.at && line?.cause == expected?.cause, "\(seed)")
            }
        }
    }
}

@Suite("Parts of a trace") struct TracePartsTests {
    @Test("O2: rows of forgotten events are dropped")
    func bounded() {
        var log = SettlementLog()
        for number in 1...100_000 as ClosedRange<SequenceNumber> {
            log.append(.init(first: number, count: 1, sends: 1, cause: 0, end: .delivered, at: number))
            log.forget(before: number - 99)
        }
        #expect(log.count == 100)
        #expect(log.line(of: 99_999)?.at == 99_999)
    }

    @Test("O2: a batch that fails repeatedly has its last failure, and old failures are dropped when there are many")
    func failures() {
        var log = FailureLog()
        for cause in 1...3 as ClosedRange<UInt32> { log.append(1...25, cause) }
        #expect(log.cause(of: 25) == 3 && log.cause(of: 26) == 0)
        for number in 1...2_000 as ClosedRange<SequenceNumber> { log.append(100 + number...100 + number, 7) }
        #expect(log.cause(of: 25) == 0 && log.cause(of: 2_100) == 7)
    }

    @Test("O2: interned texts in use keep their numbers, and unused ones are dropped without affecting them")
    func words() {
        var words = InternedTexts(most: 4, hash: TraceHash(seed: 3))
        let numbers = (0..<30).map { words.number(of: "w\($0)") }
        #expect(Set(numbers).count == 30 && !numbers.contains(0))
        for (index, number) in numbers.enumerated() {
            let word = words[number]
            #expect(word == nil || word == "w\(index)")
        }
        #expect(words[numbers[29]] == "w29" && words[numbers[0]] == nil && words.all.count <= 8)
        #expect(words.number(of: "w29") == numbers[29])
    }

    @Test("O2: a scan finds an id with any escapes, and counts the events before it")
    func scan() {
        let chunk = TraceChunks.of([#""a""#, #""\u0061""#, #""b""#], from: 4)
        var search = EventScan(for: [Array("a".utf8), Array("none".utf8)], after: 3, through: 6)
        search.take(chunk)
        #expect(search.isOver && search.found.count == 2)
        var count = EventScan(
            countingAfter: 3, before: [5, 7, 9], settled: Settled(through: 0, and: [6...6]), sweep: Sweep())
        count.take(chunk)
        count.take(nil)
        #expect(count.isOver && count.counts == [1: 2])
        #expect([5, 7, 9].map { index in count.count(before: index) { $0 == 1 } } == [1, 2, 2])
        #expect(count.count(before: 9) { _ in false } == 0)
        var nothing = EventScan(for: [Array("a".utf8)], after: 6, through: 9)
        nothing.take(nil)
        #expect(nothing.isOver)
    }
}

/// Creates chunks of events in the queue's format.
enum TraceChunks {
    /// - Parameter ids: Ids as JSON strings.
    static func of(_ ids: [String], from first: SequenceNumber) -> Chunk {
        var writer = RecordWriter()
        for (index, id) in ids.enumerated() {
            let number = first + SequenceNumber(index)
            append(id, number, key: index % 2 == 0 ? nil : #""k,\"event\":""#, to: &writer)
        }
        return Chunk(bytes: writer.take(), lastSequenceNumber: first + SequenceNumber(ids.count) - 1)
    }

    private static func append(_ id: String, _ number: SequenceNumber, key: String?, to writer: inout RecordWriter) {
        let bytes = [id, #""order \u00e9""#, "{}", key ?? ""].map { Array($0.utf8) }
        bytes[0].withUnsafeBytes { id in
            bytes[1].withUnsafeBytes { name in
                bytes[2].withUnsafeBytes { empty in
                    bytes[3].withUnsafeBytes { key in
                        let event = TrackedEvent(
                            id: id, identity: nil, name: name, time: nil, key: key.isEmpty ? nil : key,
                            timeToLive: nil, context: empty, data: empty, route: 1)
                        _ = writer.append(
                            event, sequenceNumber: number, receivedAt: Timestamp(milliseconds: number * 1_000),
                            receivedStamp: number)
                    }
                }
            }
        }
    }
}
