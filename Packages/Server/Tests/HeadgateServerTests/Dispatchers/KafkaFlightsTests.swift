import HeadgateTransport
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("Flights to Kafka")
struct KafkaFlightsTests {
    private let dead = EventOutcome.dead(.refused, cause: "no")

    /// Returns a batch of events with these sequence numbers.
    private func batch(_ numbers: Int...) -> Batch {
        var batch = Batch(of: numbers.map { _ in "{}" }, in: .separate)
        batch.events = numbers.map { Batch.Event(id: "\($0)", sequenceNumber: Int64($0), range: 0..<2) }
        return batch
    }

    /// Produces all events that may be produced. Returns the event numbers by message number.
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

    @Test("K6: several flights are in progress at once; each ends with its own last report")
    func window() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2))
        _ = flights.begin(2, batch(3))
        #expect(produce(&flights) == [1: 1, 2: 2, 3: 3])
        #expect(flights.report(1, .stored) == .init())
        #expect(flights.report(3, .stored).ended == [.init(number: 2, result: .delivered)])
        #expect(flights.report(2, .stored).ended == [.init(number: 1, result: .delivered)])
    }

    @Test("K6: an event whose message the producer still has is not produced again, and its report counts")
    func outlivesTimeOut() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2, 3))
        _ = produce(&flights)
        _ = flights.report(1, .stored)
        let over = flights.end(1, cause: "timed out")
        let rest = SendResult.each([.delivered, again("timed out"), again("timed out")])
        #expect(over.ended == [.init(number: 1, result: rest)])
        // One message is reported while no flight has its event, the other after its event was sent again.
        #expect(flights.report(2, .stored) == .init())
        #expect(flights.begin(2, batch(2, 3)) == .init())
        #expect(produce(&flights) == [:])
        #expect(flights.report(3, .stored).ended == [.init(number: 2, result: .delivered)])
    }

    @Test("K6: events that were all stored meanwhile are delivered when they are sent again")
    func storedMeanwhile() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = produce(&flights)
        _ = flights.end(1, cause: "timed out")
        _ = flights.report(1, .stored)
        #expect(flights.begin(2, batch(1)).ended == [.init(number: 2, result: .delivered)])
    }

    @Test("D6, D9, K6: a refused set is sent again in parts and without a failure, until the refused event is alone")
    func isolated() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2, 3))
        _ = flights.begin(2, batch(4))
        _ = produce(&flights)
        // Messages 1 and 2 were a set, which leaves a gap. The others come back without being written.
        flights.producerEnded()
        for message in [4, 3] as [UInt] { #expect(flights.report(message, .failed(cause: nil)) == .init()) }
        #expect(flights.report(2, .refused(dead)) == .init())
        #expect(produce(&flights) == [:], "the producer has a message yet")
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
        #expect(produce(&flights) == [9: 3, 10: 4], "nobody is suspected any more")
        let result = SendResult.each([.delivered, dead, .delivered])
        #expect(flights.report(9, .stored).ended == [.init(number: 1, result: result)])
        #expect(flights.report(10, .stored).ended == [.init(number: 2, result: .delivered)])
    }

    @Test(
        "D9, Q2, K6: without a refusal a failure is an outage: all are sent again, also unsent ones behind them")
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

    @Test("Q2, K6: an event never passes an earlier one of its key that is sent again")
    func behindTimeOut() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = produce(&flights)
        flights.producerEnded()
        _ = flights.begin(2, batch(2))
        _ = flights.begin(3, batch(3))
        #expect(flights.end(2, cause: "timed out").ended.map(\.number) == [2, 3])
        // The first event was refused after its timeout. It is produced again before the events of unlimited rounds.
        _ = flights.end(1, cause: "timed out")
        #expect(flights.report(1, .refused(dead)) == .init())
        _ = flights.begin(4, batch(1))
        #expect(produce(&flights) == [2: 1])
    }

    @Test("Q2, K6: a flight whose events are sent again ends, also if the producer has others of them")
    func partlyProduced() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1, 2))
        flights.producerMade()
        _ = flights.take(1)
        _ = flights.begin(2, batch(3))
        #expect(flights.end(2, cause: "timed out").ended.map(\.number) == [1, 2])
        // The message of the first flight still counts.
        _ = flights.begin(3, batch(1, 2))
        #expect(produce(&flights) == [2: 2])
    }

    @Test("Q2, K6: after a refused event whose dispatcher no longer waits, no event is sent again by itself")
    func refusedUnawaited() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = flights.begin(2, batch(2))
        _ = produce(&flights)
        _ = flights.end(1, cause: "timed out")
        _ = flights.report(1, .refused(dead))
        #expect(flights.report(2, .failed(cause: nil)).ended == [.init(number: 2, result: .noAnswer(cause: "no"))])
    }

    @Test("K6: the messages of an abandoned producer are sent again")
    func dropped() {
        var flights = KafkaFlights()
        _ = flights.begin(1, batch(1))
        _ = produce(&flights)
        #expect(flights.dropAll("TLS: x").ended == [.init(number: 1, result: .noAnswer(cause: "TLS: x"))])
        #expect(flights.needsProducer && flights.sentCount == 0)
        #expect(flights.report(1, .stored) == .init())
    }

    @Test("Q2, K6: messages that were sent before a failure was reported are returned as well")
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

    @Test("Q2, K6: after an event that a broker finds damaged, no event is sent before it")
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
