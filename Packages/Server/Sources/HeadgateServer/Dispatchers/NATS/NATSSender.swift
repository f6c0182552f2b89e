import HeadgateCore
import HeadgateTransport

/// The way out of a dispatcher of kind `nats` (Behaviour K4): one message an event into a JetStream stream, which
/// acknowledges each.
///
/// Libnats is called on a thread of the sender's own, and calls back on threads of its own: neither the loop nor another
/// dispatcher waits for it.
// Unchecked: it crosses to other threads as a reference only. Its state is touched on the loop alone.
final class NATSSender: Sender, @unchecked Sendable {
    let format = BatchFormat.separate

    private let loop: EventLoop
    private let thread: EventLoop
    private let timeout: Duration
    private var connection: NATSConnection?
    private var link: NATSLink?
    private var inFlight: [Int: Flight] = [:]
    private var nextFlight = 0

    /// A batch on its way.
    private struct Flight {
        let timer: LoopTimer
        let then: (SendResult) -> Void
    }

    init(_ settings: NATSSettings, loop: EventLoop) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        timeout = settings.timeout
        thread = try EventLoop.onNewThread(named: "headgate-nats")
        let link = NATSLink { [weak self, loop] ended in
            loop.submit { [weak self] in self?.end(ended) }
        }
        self.link = link
        connection = NATSConnection(settings, link: link)
    }

    deinit {
        close()
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        let flight = nextFlight
        nextFlight += 1
        guard let link, let connection else {
            return loop.atEndOfTurn { then(.interrupted) }
        }
        link.begin(flight, events: batch.events.count)
        let timer = LoopTimer(on: loop) { link.end(flight, cause: "timed out") }
        timer.arm(after: timeout)
        inFlight[flight] = Flight(timer: timer, then: then)
        thread.submit { connection.publish(batch, as: flight) }
    }

    /// What is with the server may still reach the stream; it is known again when it comes once more.
    func interrupt() {
        link?.forgetFlights()
        let given = inFlight.sorted { $0.key < $1.key }
        inFlight = [:]
        loop.atEndOfTurn { for (_, flight) in given { flight.then(.interrupted) } }
    }

    /// Does not wait for the thread, which ends once libnats lets it.
    func close() {
        guard let connection else { return }
        link?.forgetFlights()
        (self.connection, link) = (nil, nil)
        thread.submit { connection.close() }
        thread.stop()
    }

    private func end(_ ended: NATSFlights.Ended) {
        inFlight.removeValue(forKey: ended.number)?.then(ended.result)
    }
}
