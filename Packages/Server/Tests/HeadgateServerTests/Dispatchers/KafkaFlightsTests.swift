import HeadgateTransport
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("Batches in flight to Kafka")
struct KafkaFlightsTests {
    private let dead = EventOutcome.dead(.refused, cause: "no")

    /// Returns a batch of events with these sequence numbers.
    private func batch(_ numbers: Int...) -> Batch {
        var batch = Batch(of: numbers.map { _ in "{}" }, in: .separate)
        batch.events = numbers.map { Batch.Event(id: "\($0)", sequenceNumber: Int64($0), range: 0..<2) }
        return batch
    }

    /// Takes all events that may be produced. Returns the events' sequence numbers by message number.
    private func produce(_ flights: inout KafkaFlights) -> [UInt: Int] {
        var produced: [UInt: Int] = [:]
        while flights.mayProduce {
            if flights.needsProducer { flights.producerMade() }
            for portion in flights.take(2) {
                for (offset, index) in portion.indices.enumerated() {
                    let number = portion.batch.events[index].sequenceNumber
                    produced[portion.firstMessage + UInt(offset)] = Int(number)
                }
            }
        }
        return produced
    }

    private func again(_ cause: String) -> EventOutcome { .retry(cause: cause, charged: false) }

    @Test("K6: several batches are in flight at once; each ends with the last report of its own messages")
    func window() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2))
        _ = flights.begin(2, batch(3))
        #expect(produce(&flights) == [1: 1, 2: 2, 3: 3])
        #expect(flights.report(1, .stored) == .init())
        #expect(flights.report(3, .stored).ended == [.init(number: 2, result: .delivered)])
        #expect(flights.report(2, .stored).ended == [.init(number: 1, result: .delivered)])
    }

    @Test("K6: an event whose message the producer still has is not produced again; the message's report counts")
    func outlivesTimeOut() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2, 3))
        _ = produce(&flights)
        _ = flights.report(1, .stored)
        let over = flights.end(1, cause: "timed out")
        let rest = SendResult.each([.delivered, again("timed out"), again("timed out")])
        #expect(over.ended == [.init(number: 1, result: rest)])
        // Message 2 is reported while its event is not in flight, and message 3 after its event was sent again.
        #expect(flights.report(2, .stored) == .init())
        #expect(flights.begin(2, batch(2, 3)) == .init())
        #expect(produce(&flights) == [:])
        #expect(flights.report(3, .stored).ended == [.init(number: 2, result: .delivered)])
    }

    @Test("K6: a batch whose events were all stored after its timeout is delivered at once when it is sent again")
    func storedMeanwhile() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = produce(&flights)
        _ = flights.end(1, cause: "timed out")
        _ = flights.report(1, .stored)
        #expect(flights.begin(2, batch(1)).ended == [.init(number: 2, result: .delivered)])
    }

    @Test("D6, D9, K6: a refused message set is sent again in parts, uncharged, until the refused event is alone")
    func isolated() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2, 3))
        _ = flights.begin(2, batch(4))
        _ = produce(&flights)
        // The broker refused messages 1 and 2 as one set. The producer returns the others unwritten.
        flights.producerEnded()
        for message in [4, 3] as [UInt] { #expect(flights.report(message, .failed(cause: nil)) == .init()) }
        #expect(flights.report(2, .refused(dead)) == .init())
        #expect(produce(&flights) == [:], "the producer still has a message")
        #expect(flights.report(1, .refused(dead)) == .init(mayProduce: true))
        #expect(produce(&flights) == [5: 1])
        #expect(flights.report(5, .stored) == .init(mayProduce: true))
        #expect(flights.needsProducer == false)
        // A message that was stored alone raises the limit to two, so the next ones may be a set again.
        let two = produce(&flights)
        #expect(two == [6: 2, 7: 3])
        flights.producerEnded()
        _ = flights.report(7, .failed(cause: nil))
        _ = flights.report(6, .refused(dead))
        #expect(produce(&flights) == [8: 2])
        flights.producerEnded()
        #expect(flights.report(8, .refused(dead)).mayProduce)
        #expect(produce(&flights) == [9: 3, 10: 4], "no event is suspected any more")
        let result = SendResult.each([.delivered, dead, .delivered])
        #expect(flights.report(9, .stored).ended == [.init(number: 1, result: result)])
        #expect(flights.report(10, .stored).ended == [.init(number: 2, result: .delivered)])
    }

    @Test(
        "D9, Q2, K6: a failure without a refusal is an outage: all batches in flight end, and are sent again")
    func outage() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2))
        _ = produce(&flights)
        flights.producerEnded()
        _ = flights.begin(2, batch(3))
        #expect(produce(&flights) == [:])
        _ = flights.report(2, .failed(cause: nil))
        let over = flights.report(1, .failed(cause: "gone"))
        #expect(over.ended.map(\.number) == [1, 2])
        #expect(over.ended.map(\.result) == [.noAnswer(cause: "gone"), .noAnswer(cause: "gone")])
    }

    @Test("Q2, K6: an event is never sent before an earlier one of its key that is sent again")
    func behindTimeOut() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = produce(&flights)
        flights.producerEnded()
        _ = flights.begin(2, batch(2))
        _ = flights.begin(3, batch(3))
        #expect(flights.end(2, cause: "timed out").ended.map(\.number) == [2, 3])
        // The first event was refused after its timeout, so it is produced again alone.
        _ = flights.end(1, cause: "timed out")
        #expect(flights.report(1, .refused(dead)) == .init())
        _ = flights.begin(4, batch(1))
        #expect(produce(&flights) == [2: 1])
    }

    @Test("Q2, K6: when a later batch times out, an earlier one that is only partly produced ends, too")
    func partlyProduced() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2))
        flights.producerMade()
        _ = flights.take(1)
        _ = flights.begin(2, batch(3))
        #expect(flights.end(2, cause: "timed out").ended.map(\.number) == [1, 2])
        // The message that was produced for the first batch still counts.
        _ = flights.begin(3, batch(1, 2))
        #expect(produce(&flights) == [2: 2])
    }

    @Test("Q2, K6: if an event is refused after its batch timed out, later batches end, and are sent again")
    func refusedUnawaited() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = flights.begin(2, batch(2))
        _ = produce(&flights)
        _ = flights.end(1, cause: "timed out")
        _ = flights.report(1, .refused(dead))
        #expect(flights.report(2, .failed(cause: nil)).ended == [.init(number: 2, result: .noAnswer(cause: "no"))])
    }

    @Test("K6: the events of an abandoned producer are sent again, and its reports do not count")
    func dropped() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = produce(&flights)
        #expect(flights.dropAll("TLS: x").ended == [.init(number: 1, result: .noAnswer(cause: "TLS: x"))])
        #expect(flights.needsProducer && flights.sentCount == 0)
        #expect(flights.report(1, .stored) == .init())
    }

    @Test("Q2, K6: a batch that begins before the dispatcher got the report of a failure ends with that failure")
    func sentMeanwhile() {
        let ended = Guarded<[MessageFlights.Ended]>([])
        let link = KafkaLink { over in ended.withLock { $0.append(over) } }
        link.begin(1, batch(1))
        _ = link.mayProduce()
        _ = link.take(1)
        link.report([.init(messages: 1...1, report: .failed(cause: "gone"))])
        link.begin(2, batch(2))
        #expect(!link.mayProduce())
        #expect(ended.withLock { $0.map(\.number) } == [1, 2])
        link.willEnd(1)
        link.willEnd(2)
        link.begin(3, batch(1, 2))
        #expect(link.mayProduce())
    }

    @Test("Q2, K6: an event that a broker reports as damaged is sent again before all later ones")
    func damaged() {
        let damaged = EventOutcome.retry(cause: "damaged", charged: true)
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = flights.begin(2, batch(2))
        _ = produce(&flights)
        _ = flights.report(2, .failed(cause: nil))
        _ = flights.report(1, .refused(damaged))
        #expect(produce(&flights) == [3: 1])
        let over = flights.report(3, .refused(damaged)).ended
        #expect(over.map(\.result) == [.each([damaged]), .noAnswer(cause: "damaged")])
    }
}
