import HeadgateData
import HeadgateTransport

@testable import HeadgateClient

/// The event loop of a program's Swift client: the simulated clocks, and connections to the simulated daemon.
///
/// The program runs when the history says so, independent of the daemon, which may be down.
final class ProgramLoop: ClientLoop {
    private let scheduler: SimulatedScheduler
    /// The closure that lets a daemon accept a connection. It returns false if there is no daemon.
    private let accept: (SimulatedConnection) -> Bool
    private var timers: [ProgramTimer] = []
    private(set) var links: [ProgramLink] = []
    /// Called with each new link.
    var connected: (ProgramLink) -> Void = { _ in }

    init(_ scheduler: SimulatedScheduler, accept: @escaping (SimulatedConnection) -> Bool) {
        (self.scheduler, self.accept) = (scheduler, accept)
    }

    /// A connection and its reader reference each other, so they are closed here.
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

    /// Fires due timers and reads available input.
    /// - Parameter most: The maximum number of bytes per read.
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
    /// Called with the bytes that the program writes.
    var wrote: ([UInt8]) -> Void = { _ in }
    private var link: Link?
    private var unread: [UInt8] = []
    /// True if the program has closed the link.
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

    /// Closes the link. The daemon may still read what was written.
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
