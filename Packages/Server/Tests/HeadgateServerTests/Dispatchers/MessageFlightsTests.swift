import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("Flights to NATS")
struct MessageFlightsTests {
    private let later = EventOutcome.retry(cause: "busy", charged: true)

    /// Returns one flight, number 7, whose events were sent as the messages 100, 101 and so on.
    private func flights(_ events: Int, sent: Int? = nil) -> MessageFlights {
        var flights = MessageFlights()
        flights.begin(7, batch(of: events))
        for event in 0..<(sent ?? events) { _ = flights.send(100 + UInt(event), event, of: 7) }
        return flights
    }

    private func batch(of events: Int) -> Batch {
        Batch(of: Array(repeating: "{}", count: events), in: .separate)
    }

    /// Returns the flights that each answer ends, in order.
    private func ended(
        by answers: [(MessageFlights.Message, EventOutcome)], in flights: inout MessageFlights
    ) -> [MessageFlights.Ended?] {
        answers.map { message, outcome in
            if case .ended(let over) = flights.answer(message, outcome) { over } else { nil }
        }
    }

    @Test("K4: a batch ends with its last acknowledgement, in any order")
    func lastAnswer() {
        var flights = flights(3)
        let over1 = ended(by: [(102, .delivered), (100, .delivered)], in: &flights)
        #expect(over1 == [nil, nil])
        #expect(flights.batch(of: 7)?.events.count == 3)
        let over2 = ended(by: [(101, .delivered)], in: &flights)
        #expect(over2 == [.init(number: 7, result: .delivered)])
        #expect(flights.batch(of: 7) == nil)
    }

    @Test("K4: different outcomes are reported for each event, in the batch's order")
    func differing() {
        var flights = flights(2)
        let over = ended(by: [(101, .delivered), (100, later)], in: &flights)
        #expect(over == [nil, .init(number: 7, result: .each([later, .delivered]))])
    }

    @Test("A failure of all events without an answer is one failure")
    func sameFailure() {
        let lost = EventOutcome.retry(cause: "lost", charged: false)
        var flights = flights(2)
        let over = ended(by: [(100, lost), (101, lost)], in: &flights)
        #expect(over == [nil, .init(number: 7, result: .noAnswer(cause: "lost"))])
    }

    @Test("A flight that takes too long ends: acknowledged events are delivered, the rest is sent again")
    func takesTooLong() {
        var flights = flights(3, sent: 2)
        _ = flights.answer(100, .delivered)
        let again = EventOutcome.retry(cause: "timed out", charged: false)
        let over = [flights.end(7, cause: "timed out"), flights.end(7, cause: "timed out")]
        #expect(over == [.init(number: 7, result: .each([.delivered, again, again])), nil])
        let over3 = ended(by: [(101, .delivered)], in: &flights)
        #expect(over3 == [nil], "a late acknowledgement")
        let goesOut = flights.send(102, 2, of: 7)
        #expect(!goesOut, "nor does the rest go out")
    }

    @Test("A lost connection ends the flights that wait for it, and no others")
    func lost() {
        var flights = flights(1)
        flights.begin(8, batch(of: 1))
        flights.begin(9, batch(of: 1))
        _ = flights.send(200, 0, of: 9)
        let over = flights.endSent(cause: "lost")
        #expect(over.map(\.number) == [7, 9])
        #expect(over.map(\.result) == [.noAnswer(cause: "lost"), .noAnswer(cause: "lost")])
        #expect(flights.batch(of: 8)?.events.count == 1)
    }

    @Test("A message's place in memory may be used again by the next one")
    func sameMessage() {
        var flights = flights(1)
        flights.begin(8, batch(of: 1))
        let over4 = ended(by: [(100, .delivered)], in: &flights)
        #expect(over4 == [.init(number: 7, result: .delivered)])
        _ = flights.send(100, 0, of: 8)
        let over5 = ended(by: [(100, later)], in: &flights)
        #expect(over5 == [.init(number: 8, result: .each([later]))])
    }

    @Test("A forgotten flight has no waiters")
    func forgotten() {
        var flights = flights(1)
        flights.removeAll()
        #expect(flights.batch(of: 7) == nil)
        let over6 = ended(by: [(100, .delivered)], in: &flights)
        #expect(over6 == [nil])
    }

    // MARK: Keys

    /// Returns one flight, number 7, whose events have these keys, or none for nil.
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

    /// Sends all events that may be sent, each as the message of its index.
    private func sendReady(in flights: inout MessageFlights) -> [Int] {
        var sent: [Int] = []
        while let event = flights.nextEvent(of: 7) {
            _ = flights.send(UInt(event), event, of: 7)
            sent.append(event)
        }
        return sent
    }

    @Test("Q2, K4: an event of a key is sent once the one before it is stored or dead; others do not wait for it")
    func keyed() {
        var flights = flights(keys: "a", nil, "a", "b", "a")
        let first = sendReady(in: &flights)
        #expect(first == [0, 1, 3])
        let other = flights.answer(1, .delivered)
        #expect(other == nil)
        let second = flights.answer(0, .duplicate)
        #expect(second == .ready(7))
        #expect(sendReady(in: &flights) == [2])
        let third = flights.answer(2, .dead(.tooLarge, cause: "x"))
        #expect(third == .ready(7))
        #expect(sendReady(in: &flights) == [4])
    }

    @Test("Q2, K4: events behind a refused one of their key are sent again with it, uncharged and unsent")
    func refusedInTheMiddle() {
        var flights = flights(keys: "a", "a", "b", "a", "a")
        _ = sendReady(in: &flights)
        _ = flights.answer(0, .delivered)
        _ = sendReady(in: &flights)
        _ = flights.answer(1, later)
        #expect(sendReady(in: &flights) == [])
        let over = flights.answer(2, .delivered)
        let behind = EventOutcome.retry(cause: "busy", charged: false)
        #expect(over == .ended(.init(number: 7, result: .each([.delivered, later, .delivered, behind, behind]))))
    }
}
