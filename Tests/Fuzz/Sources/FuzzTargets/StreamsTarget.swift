import CNATS
import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// JetStream's answers about messages, in any order. Every batch must end exactly once, with an outcome for each event.
enum StreamsTarget {
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        var scene = Scene()
        while !input.isEmpty { scene.step(&input) }
        scene.finish()
        return 0
    }

    /// The number of statuses in libnats, which has no text for others.
    private static let statuses = NATS_MISSED_HEARTBEAT.rawValue + 1

    private struct Scene {
        private var flights = MessageFlights()
        /// The number of events of each batch that has not ended.
        private var open: [Int: Int] = [:]
        private var next = 0
        /// The messages that were published, in order.
        private var messages: [MessageFlights.Message] = []

        mutating func step(_ input: inout FuzzInput) {
            let choice = input.byte()
            let flight = Int(choice >> 4)
            switch choice & 7 {
            case 0: begin(events: flight + 1)
            case 1: publish(flight, most: input.number(below: 16))
            case 2: end(flights.end(flight, cause: "x"))
            case 3: for ended in flights.endSent(cause: "x") { end(ended) }
            case 4: answer(NATSAnswer(failure: natsStatus(UInt32(input.byte()) % statuses)), of: flight)
            case 5: answer(refusal(&input), of: flight)
            default: answer(.stored, of: flight)
            }
        }

        mutating func finish() {
            precondition(open.allSatisfy { flights.batch(of: $0.key)?.events.count == $0.value })
            for flight in open.keys.sorted() { end(flights.end(flight, cause: "x")) }
            precondition(open.isEmpty && flights.endSent(cause: "x").isEmpty)
        }

        private mutating func begin(events: Int) {
            let event = Batch.Event(id: "", sequenceNumber: 1, range: 0..<0)
            flights.begin(next, Batch(number: next, body: [], events: Array(repeating: event, count: events)))
            open[next] = events
            next += 1
        }

        private mutating func publish(_ flight: Int, most: Int) {
            let taken = flights.take(most, of: flight)
            precondition(taken.count == 0 || flights.batch(of: flight) != nil)
            messages += taken
        }

        private mutating func answer(_ answer: NATSAnswer, of index: Int) {
            guard messages.indices.contains(index) else { return }
            if case .ended(let ended) = flights.answer(messages[index], answer.outcome) { end(ended) }
        }

        private mutating func end(_ ended: MessageFlights.Ended?) {
            guard let ended else { return }
            guard let events = open.removeValue(forKey: ended.number) else {
                preconditionFailure("batch \(ended.number) ends again")
            }
            precondition(flights.batch(of: ended.number) == nil)
            if case .each(let outcomes) = ended.result { precondition(outcomes.count == events) }
        }
    }

    /// Checks that causes are fixed texts, whatever the server says (Behaviour X4).
    private static func refusal(_ input: inout FuzzInput) -> NATSAnswer {
        let code = jsErrCode(UInt32(10_000 + Int(input.integer(UInt16.self) % 200)))
        let text = input.text(upTo: "\n")
        let answer = NATSAnswer(refusal: code, text: text)
        precondition(answer.outcome.cause?.hasPrefix("NATS: ") == true)
        let isFull = text.contains("maximum")
        precondition(isFull || answer == NATSAnswer(refusal: code, text: ""), "what the server says is told")
        return answer
    }
}
