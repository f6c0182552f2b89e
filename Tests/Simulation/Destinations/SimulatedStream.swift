import HeadgateCore

@testable import HeadgateServer

/// The behaviour of libnats and a server. Messages go out one by one, and are acknowledged, refused or forgotten in any
/// order, even after their batch has ended.
// Unchecked: the simulation has one thread.
final class SimulatedStream: MessagePublisher, @unchecked Sendable {
    private let record: Record
    private var link: MessageLink?
    private var flights: [Flight] = []
    /// The published messages without an outcome.
    private var messages: [MessageFlights.Message] = []
    /// True while the sender learns that the connection is lost.
    private var isLosingConnection = false

    /// A batch being published.
    private struct Flight {
        let number: Int
        let batch: Batch
        /// Messages that may be published and are not.
        var ready: [MessageFlights.Message] = []
        /// The outcome of each event, if known while the batch is in flight.
        var said: [EventOutcome?]
    }

    init(_ record: Record) {
        self.record = record
    }

    /// Sets the link of a new sender, which reports outcomes to it.
    func connect(_ link: MessageLink) {
        self.link = link
    }

    func lifeEnded() {
        (link, flights, messages) = (nil, [], [])
    }

    // MARK: The sender's end

    func publish(_ flight: Int) {
        guard let link, let batch = link.batch(of: flight) else {
            return record.expect(false, "an unknown batch is published")
        }
        let known = flights.firstIndex { $0.number == flight }
        let index = known ?? flights.count
        if known == nil { flights.append(Flight(number: flight, batch: batch, said: batch.events.map { _ in nil })) }
        flights[index].ready += link.take(batch.events.count, of: flight)
    }

    func close() {
        link = nil
    }

    /// Returns true if a batch may end before its time is over: each event has an outcome or comes after one of its key that
    /// is sent again, or the connection was lost.
    func mayEnd(_ batch: Batch) -> Bool {
        guard let flight = flights.first(where: { $0.batch.number == batch.number }), !isLosingConnection
        else { return true }
        let keys = batch.events.map(\.key)
        return flight.said.indices.allSatisfy { index in
            flight.said[index] != nil
                || flight.said.indices.prefix(upTo: index).contains { before in
                    guard case .retry? = flight.said[before] else { return false }
                    return keys[before] != nil && keys[before] == keys[index]
                }
        }
    }

    /// Ends a batch.
    /// - Returns: The outcomes of its events.
    func end(_ batch: Batch) -> [EventOutcome] {
        guard let index = flights.firstIndex(where: { $0.batch.number == batch.number }) else { return [] }
        return flights.remove(at: index).said.map { $0 ?? .retry(cause: "nothing was said", charged: false) }
    }

    // MARK: The thread of libnats

    var hasWork: Bool { flights.contains { !$0.ready.isEmpty } || !messages.isEmpty }

    /// Publishes the next message.
    func publishOne() {
        let indexes = flights.indices.filter { !flights[$0].ready.isEmpty }
        guard let link, !indexes.isEmpty else { return }
        let index = record.pick(indexes)
        let message = flights[index].ready.removeFirst()
        record.expect(link.batch(of: message.flight) != nil, "a batch ended without a report")
        messages.append(message)
        // Sometimes libnats rejects the message.
        if record.oneIn(20) { report(message, .retry(cause: "not taken", charged: false)) }
    }

    /// Reports the outcome of a message, or never reports any.
    func answerOne(isWell: Bool) {
        guard !messages.isEmpty else { return }
        let message = record.pick(messages)
        if isWell { return report(message, .delivered) }
        switch record.number(0...11) {
        case 0...6: report(message, .delivered)
        case 7: report(message, .retry(cause: "the stream is full", charged: true))
        case 8: report(message, .retry(cause: "no stream takes it", charged: false))
        case 9: report(message, .dead(.tooLarge, cause: "too large"))
        // No outcome is reported before the timeout.
        default: break
        }
    }

    private func report(_ message: MessageFlights.Message, _ outcome: EventOutcome) {
        messages.removeAll { $0 == message }
        if let index = flights.firstIndex(where: { $0.number == message.flight }) {
            flights[index].said[message.event] = outcome
        } else {
            record.count(.streamLate)
        }
        var answer = NATSAnswer.stored
        answer.outcome = outcome
        link?.answer(message, answer)
        let isOver = flights.contains { $0.number == message.flight && !$0.said.contains(nil) }
        record.expect(!isOver, "a batch is still in flight after all its answers")
    }

    /// Loses the connection: published messages get no outcome, or a late one.
    func loseConnection() {
        let cut = Set(messages.map(\.flight))
        guard !cut.isEmpty else { return }
        record.count(.streamCut)
        record.note("the stream is lost")
        messages.removeAll { _ in record.oneIn(2) }
        isLosingConnection = true
        link?.endSent(cause: "connection lost")
        isLosingConnection = false
        let left = flights.contains { cut.contains($0.number) }
        record.expect(!left, "a batch waits for answers of a connection that is lost")
    }
}
