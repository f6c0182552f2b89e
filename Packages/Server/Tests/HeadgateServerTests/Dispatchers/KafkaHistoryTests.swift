import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests random histories of a dispatcher, its batches in flight, and a producer whose broker refuses some events.
@Suite("Random histories of sending to Kafka")
struct KafkaHistoryTests {
    @Test(
        "K6, Q2, D6: each event is stored once, or dead if refused, and the events of a partition stay in order",
        arguments: 0..<300)
    func history(seed: Int) {
        var history = KafkaHistory(seed: seed)
        for _ in 0..<200 { history.step(isCalm: false) }
        for _ in 0..<5000 where !history.isOver { history.step(isCalm: true) }
        #expect(history.isOver, "seed \(seed)")
        #expect(history.faults == [], "seed \(seed)")
    }
}

private struct KafkaHistory {
    private static let events = 40
    private var random: Chance
    private var flights = KafkaFlights()
    /// The dispatcher's pending events, without those in flight.
    private var pending = Array(1...KafkaHistory.events)
    private var inFlight: [Int: [Int]] = [:]
    private var nextFlight = 1
    /// The producer's messages without a report yet, in order.
    private var outbox: [(message: UInt, event: Int)] = []
    private var isEnded = true
    /// The stored events of each partition.
    private var stored = [[Int]](repeating: [], count: 3)
    private let poison: Set<Int>
    private var settled: Set<Int> = []
    private(set) var faults: [String] = []

    init(seed: Int) {
        var random = Chance(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
        poison = Set((1...KafkaHistory.events).filter { _ in Int.random(in: 0..<8, using: &random) == 0 })
        self.random = random
    }

    var isOver: Bool { settled.count == KafkaHistory.events && inFlight.isEmpty }

    mutating func step(isCalm: Bool) {
        switch Int.random(in: 0..<(isCalm ? 6 : 10), using: &random) {
        case 0, 1: begin()
        case 2, 3: produce()
        case 4, 5: answerSet()
        case 6: timeOut()
        case 7 where Int.random(in: 0..<5, using: &random) == 0: breakDown()
        default: produce()
        }
        if isEnded, !outbox.isEmpty { giveBack(cause: nil) }
    }

    /// The dispatcher sends its oldest pending events.
    private mutating func begin() {
        guard inFlight.count < 3, !pending.isEmpty else { return }
        let count = min(pending.count, Int.random(in: 1...6, using: &random))
        let numbers = Array(pending.prefix(count))
        pending.removeFirst(count)
        var batch = Batch(of: numbers.map { _ in "{}" }, in: .separate)
        batch.events = numbers.map { Batch.Event(id: "\($0)", sequenceNumber: Int64($0), range: 0..<2) }
        inFlight[nextFlight] = numbers
        nextFlight += 1
        end(flights.begin(nextFlight - 1, batch))
    }

    private mutating func produce() {
        guard flights.mayProduce else { return }
        if flights.needsProducer {
            if !outbox.isEmpty { faults.append("the producer is replaced while it has messages") }
            flights.producerMade()
            isEnded = false
        }
        for portion in flights.take(Int.random(in: 1...8, using: &random)) {
            for (offset, index) in portion.indices.enumerated() {
                let event = Int(portion.batch.events[index].sequenceNumber)
                if outbox.contains(where: { $0.event == event }) { faults.append("\(event) is produced twice at once") }
                outbox.append((portion.firstMessage + UInt(offset), event))
            }
        }
    }

    /// Lets a broker store the first messages of a partition, or refuse them if one of their events is poison.
    private mutating func answerSet() {
        guard let event = outbox.randomElement(using: &random)?.event, !isEnded else { return }
        let all = outbox.filter { $0.event % 3 == event % 3 }
        let set = all.prefix(Int.random(in: 1...4, using: &random))
        outbox.removeAll { sent in set.contains { $0.message == sent.message } }
        guard set.contains(where: { poison.contains($0.event) }) else {
            stored[event % 3] += set.map(\.event)
            var reports: [KafkaFlights.Reports] = []
            for sent in set { reports.add(.stored, of: sent.message) }
            for range in reports { end(flights.report(range)) }
            return
        }
        isEnded = true
        // librdkafka may report the producer's end before or after the refusal.
        let isFirst = Bool.random(using: &random)
        if isFirst { flights.producerEnded() }
        for sent in set {
            end(flights.report(sent.message, .refused(.dead(.refused, cause: "no"))))
        }
        flights.producerEnded()
    }

    /// Ends the producer, which returns its messages in any order.
    private mutating func giveBack(cause: String?) {
        flights.producerEnded()
        let back = outbox.shuffled(using: &random)
        outbox = []
        for sent in back { end(flights.report(sent.message, .failed(cause: cause))) }
    }

    /// Loses all brokers before any message was written.
    private mutating func breakDown() {
        isEnded = true
        giveBack(cause: "gone")
    }

    private mutating func timeOut() {
        guard let flight = inFlight.keys.sorted().randomElement(using: &random) else { return }
        end(flights.end(flight, cause: "timed out"))
    }

    private mutating func end(_ outcome: KafkaFlights.Outcome) {
        for ended in outcome.ended {
            guard let numbers = inFlight.removeValue(forKey: ended.number) else {
                faults.append("flight \(ended.number) ends twice")
                continue
            }
            for (number, outcome) in zip(numbers, outcomes(of: ended.result, numbers.count)) { settle(number, outcome) }
            pending.sort()
        }
    }

    private mutating func settle(_ number: Int, _ outcome: EventOutcome) {
        switch outcome {
        case .delivered, .duplicate:
            settled.insert(number)
            let copies = stored[number % 3].count { $0 == number }
            if copies != 1 { faults.append("\(number) is delivered, and stored \(copies) times") }
            if stored[number % 3] != stored[number % 3].sorted() { faults.append("\(stored[number % 3])") }
        case .dead:
            settled.insert(number)
            if !poison.contains(number) { faults.append("\(number) is dead") }
        case .retry(_, let isCharged):
            pending.append(number)
            if isCharged { faults.append("\(number) is charged") }
        }
    }

    private func outcomes(of result: SendResult, _ count: Int) -> [EventOutcome] {
        switch result {
        case .delivered: Array(repeating: .delivered, count: count)
        case .each(let outcomes): outcomes
        default: Array(repeating: .retry(cause: "", charged: false), count: count)
        }
    }
}

/// The random number generator SplitMix64.
private struct Chance: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
