import HeadgateCore

@testable import HeadgateServer

/// What libnats and a server do together: messages go out one by one, and are acknowledged, refused or forgotten in any
/// order, also when nobody waits for it any more.
// Unchecked: the simulation has one thread.
final class SimulatedStream: MessagePublisher, @unchecked Sendable {
    private let record: Record
    private var link: MessageLink?
    private var flights: [Flight] = []
    /// Messages that libnats has. A message's place in memory is another's once it was told what came of it.
    private var messages: [MessageFlights.Message: Sent] = [:]

    /// A batch that is being published.
    private struct Flight {
        let number: Int
        let batch: Batch
        /// Events that may go, and have not.
        var ready: [Int] = []
        /// What the stream has said of each event, while the batch was on its way.
        var said: [EventOutcome?]
        /// Whether the connection was lost while its answers were waited for.
        var isCut = false
    }

    private struct Sent {
        let flight: Int
        let event: Int
    }

    init(_ record: Record) {
        self.record = record
    }

    /// A sender was made, which is told by this link.
    func connect(_ link: MessageLink) {
        self.link = link
    }

    func lifeEnded() {
        (link, flights, messages) = (nil, [], [:])
    }

    // MARK: The sender's end

    func publish(_ flight: Int) {
        guard let link, let batch = link.batch(of: flight) else {
            return record.expect(false, "what goes out is no batch")
        }
        let known = flights.firstIndex { $0.number == flight }
        let place = known ?? flights.count
        if known == nil { flights.append(Flight(number: flight, batch: batch, said: batch.events.map { _ in nil })) }
        while let event = link.nextEvent(of: flight) { flights[place].ready.append(event) }
    }

    func close() {
        link = nil
    }

    /// A batch is not on its way any more.
    /// - Returns: what was said of its events.
    func end(_ batch: Batch) -> [EventOutcome] {
        guard let place = flights.firstIndex(where: { $0.batch.number == batch.number }) else { return [] }
        return flights.remove(at: place).said.map { $0 ?? .retry(cause: "nothing was said", charged: false) }
    }

    // MARK: The thread of libnats

    var hasWork: Bool { flights.contains { !$0.ready.isEmpty } || !messages.isEmpty }

    /// The next message goes out.
    func publishOne() {
        let places = flights.indices.filter { !flights[$0].ready.isEmpty }
        guard let link, !places.isEmpty else { return }
        let place = record.pick(places)
        let (flight, event) = (flights[place].number, flights[place].ready.removeFirst())
        record.expect(link.batch(of: flight) != nil, "a batch is over, and nobody was told")
        let message = (1...).first { messages[$0] == nil } ?? 0
        guard link.send(message, event, of: flight) else { return record.expect(false, "a message need not go") }
        messages[message] = Sent(flight: flight, event: event)
        // Sometimes libnats does not even take it.
        if record.oneIn(20) { tell(message, .retry(cause: "not taken", charged: false)) }
    }

    /// Something comes of a message, or nothing ever does.
    func answerOne(isWell: Bool) {
        guard !messages.isEmpty else { return }
        let message = record.pick(messages.keys.sorted())
        if isWell { return tell(message, .delivered) }
        switch record.number(0...11) {
        case 0...6: tell(message, .delivered)
        case 7: tell(message, .retry(cause: "the stream is full", charged: true))
        case 8: tell(message, .retry(cause: "no stream takes it", charged: false))
        case 9: tell(message, .dead(.tooLarge, cause: "too large"))
        // Nothing is said until it is too late.
        default: break
        }
    }

    private func tell(_ message: MessageFlights.Message, _ outcome: EventOutcome) {
        guard let sent = messages.removeValue(forKey: message) else { return }
        if let place = flights.firstIndex(where: { $0.number == sent.flight }) {
            flights[place].said[sent.event] = outcome
        } else {
            record.count(.streamLate)
        }
        var answer = NATSAnswer.stored
        answer.outcome = outcome
        link?.answer(message, answer)
        let isOver = flights.contains { $0.number == sent.flight && !$0.said.contains(nil) }
        record.expect(!isOver, "the stream has answered for a batch, which is still on its way")
    }

    /// The connection is lost: what was published is answered by nobody, or by a message that comes late.
    func loseConnection() {
        let cut = Set(messages.values.map(\.flight))
        guard !cut.isEmpty else { return }
        record.count(.streamCut)
        record.note("the stream is lost")
        for message in messages.keys.sorted() where record.oneIn(2) { messages[message] = nil }
        link?.endSent(cause: "connection lost")
        let left = flights.contains { cut.contains($0.number) }
        record.expect(!left, "a batch waits for answers of a connection that is lost")
    }
}
