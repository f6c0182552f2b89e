import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("Batches in flight to NATS")
struct MessageFlightsTests {
    private let later = EventOutcome.retry(cause: "busy", charged: true)

    /// Returns one batch in flight, number 7, whose events were published.
    private func flights(_ events: Int, published: Int? = nil) -> MessageFlights {
        var flights = MessageFlights()
        flights.begin(7, batch(of: events))
        _ = flights.take(published ?? events, of: 7)
        return flights
    }

    private func batch(of events: Int) -> Batch {
        Batch(of: Array(repeating: "{}", count: events), in: .separate)
    }

    /// Returns the message of the event at this index of batch 7.
    private func message(_ event: Int) -> MessageFlights.Message {
        MessageFlights.Message(flight: 7, event: event)
    }

    /// Answers for events of batch 7. Returns the batch that each answer ends, or nil, in order.
    private func ended(
        by answers: [(event: Int, outcome: EventOutcome)], in flights: inout MessageFlights
    ) -> [MessageFlights.Ended?] {
        answers.map { event, outcome in
            if case .ended(let over) = flights.answer(message(event), outcome) { over } else { nil }
        }
    }

    @Test("K4: a batch ends when all its messages are acknowledged, in any order")
    func lastAnswer() {
        var flights = flights(3)
        let over1 = ended(by: [(2, .delivered), (0, .delivered)], in: &flights)
        #expect(over1 == [nil, nil])
        #expect(flights.batch(of: 7)?.events.count == 3)
        let over2 = ended(by: [(1, .delivered)], in: &flights)
        #expect(over2 == [.init(number: 7, result: .delivered)])
        #expect(flights.batch(of: 7) == nil)
    }

    @Test("K4: different outcomes are reported for each event, in the batch's order")
    func differing() {
        var flights = flights(2)
        let over = ended(by: [(1, .delivered), (0, later)], in: &flights)
        #expect(over == [nil, .init(number: 7, result: .each([later, .delivered]))])
    }

    @Test("If all events of a batch fail in the same way without an answer, the batch has one result")
    func sameFailure() {
        let lost = EventOutcome.retry(cause: "lost", charged: false)
        var flights = flights(2)
        let over = ended(by: [(0, lost), (1, lost)], in: &flights)
        #expect(over == [nil, .init(number: 7, result: .noAnswer(cause: "lost"))])
    }

    @Test("A batch that times out ends: acknowledged events are delivered, and the rest is sent again")
    func takesTooLong() {
        var flights = flights(3, published: 2)
        _ = flights.answer(message(0), .delivered)
        let again = EventOutcome.retry(cause: "timed out", charged: false)
        let over = [flights.end(7, cause: "timed out"), flights.end(7, cause: "timed out")]
        #expect(over == [.init(number: 7, result: .each([.delivered, again, again])), nil])
        let over3 = ended(by: [(1, .delivered)], in: &flights)
        #expect(over3 == [nil], "a late acknowledgement")
        let rest = flights.take(3, of: 7)
        #expect(rest.isEmpty, "the unsent events are not published")
    }

    @Test("A lost connection ends the batches that have published events, and no others")
    func lost() {
        var flights = flights(1)
        flights.begin(8, batch(of: 1))
        flights.begin(9, batch(of: 1))
        _ = flights.take(1, of: 9)
        let over = flights.endSent(cause: "lost")
        #expect(over.map(\.number) == [7, 9])
        #expect(over.map(\.result) == [.noAnswer(cause: "lost"), .noAnswer(cause: "lost")])
        #expect(flights.batch(of: 8)?.events.count == 1)
    }

    @Test("Only the first answer to a message counts; answers to events that the batch does not have are ignored")
    func repeated() {
        var flights = flights(2)
        let over = ended(by: [(0, .delivered), (0, later), (2, .delivered), (-1, .delivered)], in: &flights)
        #expect(over == [nil, nil, nil, nil])
        let last = ended(by: [(1, .delivered)], in: &flights)
        #expect(last == [.init(number: 7, result: .delivered)])
    }

    @Test("Answers to a batch that was forgotten are ignored")
    func forgotten() {
        var flights = flights(1)
        flights.removeAll()
        #expect(flights.batch(of: 7) == nil)
        let over6 = ended(by: [(0, .delivered)], in: &flights)
        #expect(over6 == [nil])
    }

    // MARK: Keys

    /// Returns one batch in flight, number 7, whose events have these keys. Nil stands for an event without a key.
    private func flights(keys: String?...) -> MessageFlights {
        var batch = batch(of: keys.count)
        batch.events = keys.enumerated().map { index, key in
            let json = key.map { "\"\($0)\"" }
            return Batch.Event(id: "\(index)", sequenceNumber: Int64(index + 1), range: 0..<0, key: json)
        }
        var flights = MessageFlights()
        flights.begin(7, batch)
        return flights
    }

    /// Publishes all events that may be published, two at a time. Returns their indices.
    private func sendReady(in flights: inout MessageFlights) -> [Int] {
        var sent: [Int] = []
        while case let messages = flights.take(2, of: 7), !messages.isEmpty { sent += messages.map(\.event) }
        return sent
    }

    @Test("Q2, K4: an event is sent once the previous one of its key is stored or dead; other keys do not wait")
    func keyed() {
        var flights = flights(keys: "a", nil, "a", "b", "a")
        let first = sendReady(in: &flights)
        #expect(first == [0, 1, 3])
        let other = flights.answer(message(1), .delivered)
        #expect(other == nil)
        let second = flights.answer(message(0), .duplicate)
        #expect(second == .ready(7))
        #expect(sendReady(in: &flights) == [2])
        let third = flights.answer(message(2), .dead(.tooLarge, cause: "x"))
        #expect(third == .ready(7))
        #expect(sendReady(in: &flights) == [4])
    }

    @Test("Q2, K4: after an event is refused, later ones of its key are not sent, and are retried with it, uncharged")
    func refusedInTheMiddle() {
        var flights = flights(keys: "a", "a", "b", "a", "a")
        _ = sendReady(in: &flights)
        _ = flights.answer(message(0), .delivered)
        _ = sendReady(in: &flights)
        _ = flights.answer(message(1), later)
        #expect(sendReady(in: &flights) == [])
        let over = flights.answer(message(2), .delivered)
        let behind = EventOutcome.retry(cause: "busy", charged: false)
        #expect(over == .ended(.init(number: 7, result: .each([.delivered, later, .delivered, behind, behind]))))
    }
}
