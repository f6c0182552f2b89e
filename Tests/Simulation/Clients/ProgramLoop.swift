import HeadgateData
import HeadgateTransport

@testable import HeadgateClient

/// What the Swift client of one program lives on: the history's clocks, and connections to the simulated daemon.
///
/// The program has its turns when the history says so, not with the daemon, which may be dead.
final class ProgramLoop: ClientLoop {
    private let scheduler: SimulatedScheduler
    /// Has a daemon take a connection; false where there is none.
    private let accept: (SimulatedConnection) -> Bool
    private var timers: [ProgramTimer] = []
    private(set) var links: [ProgramLink] = []
    /// Told of each link that is made.
    var connected: (ProgramLink) -> Void = { _ in }

    init(_ scheduler: SimulatedScheduler, accept: @escaping (SimulatedConnection) -> Bool) {
        (self.scheduler, self.accept) = (scheduler, accept)
    }

    /// A connection and what reads from it hold each other.
    deinit {
        for link in links { link.close() }
    }

    var monotonicNow: Int64 { scheduler.now.nanoseconds }
    var wallNow: Timestamp { scheduler.wall }

    func timer(_ action: @escaping () -> Void) -> any ClientTimer {
        let timer = ProgramTimer(action)
        timers.append(timer)
        return timer
    }

    func connect(to path: String) throws(TransportError) -> any LinkConnection {
        let wire = SimulatedConnection(on: scheduler)
        guard accept(wire) else { throw .system(operation: "connect", code: -111) }
        let link = ProgramLink(wire)
        links.append(link)
        connected(link)
        return link
    }

    /// What is due happens, and what has come is read.
    /// - Parameter most: the most bytes that are read at once.
    func takeTurn(most: Int) {
        for timer in timers { timer.fire(at: monotonicNow) }
        for link in links { link.takeTurn(most: most) }
        links.removeAll { $0.isClosed && !$0.wire.isOpen }
    }
}

/// A timer that fires in its program's turn.
final class ProgramTimer: ClientTimer {
    private(set) var deadline: Int64?
    private let action: () -> Void

    init(_ action: @escaping () -> Void) {
        self.action = action
    }

    func arm(at moment: Int64) { deadline = moment }
    func cancel() { deadline = nil }

    func fire(at now: Int64) {
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        action()
    }
}

/// The program's end of a connection.
final class ProgramLink: LinkConnection {
    let wire: SimulatedConnection
    /// Told of what the program writes.
    var wrote: ([UInt8]) -> Void = { _ in }
    private var link: Link?
    private var unread: [UInt8] = []
    /// Whether the program has closed it.
    private(set) var isClosed = false

    init(_ wire: SimulatedConnection) {
        self.wire = wire
    }

    func begin(_ link: Link) { self.link = link }

    func write(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        wrote(bytes)
        wire.send(bytes)
    }

    /// What has been written may still be read.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        link = nil
        wire.lose()
    }

    func closeAfterFlush() { close() }

    func takeTurn(most: Int) {
        unread += wire.take()
        while !unread.isEmpty, let link {
            let count = min(most, unread.count)
            let bytes = Array(unread.prefix(count)) + [UInt8](repeating: 0, count: 64)
            unread.removeFirst(count)
            bytes.withUnsafeBytes { link.took(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
        }
        if !wire.isOpen, !isClosed { link?.end() }
    }
}
