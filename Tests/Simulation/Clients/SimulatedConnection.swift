import HeadgateCore
import HeadgateTransport

@testable import HeadgateServer

/// Both ends of a simulated connection. It behaves like `Connection` with a socket: it reads once per event, writes at
/// the end of the turn, and reports the loss of the client even while reading is paused.
final class SimulatedConnection: SessionConnection {
    let peer: PeerCredentials
    private(set) var isOpen = true
    private(set) var lastOutputProgress: Int64
    /// True if the daemon closed the connection without flushing its output.
    private(set) var isCutOff = false
    /// The number of bytes that the client still accepts.
    var room = Int.max
    /// The largest amount of pending output so far.
    private(set) var mostOutput = 0
    /// Called with the daemon's output, and true if earlier output is still unsent.
    var wrote: (([UInt8], Bool) -> Void)?

    /// The time at which the connection was created.
    let begin: Instant
    /// True while the daemon does not read.
    private(set) var isPaused = false

    private let scheduler: SimulatedScheduler
    private var session: Session?
    private var isReading = false
    private var endsAfterFlush = false
    private var isPeerGone = false
    /// The time at which the daemon was notified that the client is gone.
    private(set) var peerGoneAt: Instant?
    private var hasReachedEnd = false
    private var isBlocked = false
    private var isFlushScheduled = false
    private var output: [UInt8] = []

    // State of the client's end.
    private var inProgress: [UInt8] = []
    private var taken: [UInt8] = []
    private var isFinished = false
    private var isLost = false

    /// - Parameter uid: The user of the client.
    init(on scheduler: SimulatedScheduler, uid: UInt32 = 0) {
        self.scheduler = scheduler
        peer = PeerCredentials(pid: 7, uid: uid, gid: uid, groups: [])
        begin = scheduler.now
        lastOutputProgress = scheduler.now.nanoseconds
    }

    /// The daemon's name for the session, or nil if there is none.
    var sessionName: String? { session?.name }

    // MARK: The client's end

    func send(_ bytes: [UInt8]) {
        inProgress += bytes
    }

    /// Ends the input from the client, which sends nothing more.
    func finish() {
        isFinished = true
    }

    /// Records that the daemon is gone.
    func forget() {
        isOpen = false
        session = nil
    }

    /// Records that the client is gone. The daemon may still read what the client sent.
    func lose() {
        isLost = true
        taken = []
    }

    func take() -> [UInt8] {
        defer { taken = [] }
        return taken
    }

    // MARK: The wire

    /// True if the loop has an event for the daemon.
    var hasNews: Bool {
        guard isOpen else { return false }
        if isBlocked, room > 0 { return true }
        return isExpectingInput ? !inProgress.isEmpty || isFinished || isLost : isLost && !isPeerGone
    }

    /// Delivers ready events to the daemon, with at most `most` bytes per read.
    func deliver(most: Int) {
        if isBlocked, room > 0 { flush() }
        guard isOpen else { return }
        if isExpectingInput {
            if !inProgress.isEmpty { read(min(most, inProgress.count)) } else if isFinished || isLost { reachEnd() }
        } else if isLost {
            losePeer()
        }
    }

    private var isExpectingInput: Bool { isReading && !hasReachedEnd && isOpen }

    private func read(_ count: Int) {
        let bytes = Array(inProgress.prefix(count)) + [UInt8](repeating: 0, count: 64)
        inProgress.removeFirst(count)
        bytes.withUnsafeBytes { session?.took(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }

    private func reachEnd() {
        hasReachedEnd = true
        session?.endReached()
        if isPeerGone { end() }
    }

    private func losePeer() {
        guard isOpen, !isPeerGone else { return }
        isPeerGone = true
        peerGoneAt = scheduler.now
        isBlocked = false
        let hadOutput = !output.isEmpty
        output = []
        session?.peerLost()
        if hadOutput, isOpen { session?.outputDrained() }
        if hasReachedEnd || endsAfterFlush { end() }
    }

    private func flush() {
        guard isOpen, !output.isEmpty else { return }
        if isLost { return losePeer() }
        let count = min(room, output.count)
        taken += output.prefix(count)
        output.removeFirst(count)
        if room != .max { room -= count }
        if count > 0 || !isBlocked { lastOutputProgress = scheduler.now.nanoseconds }
        isBlocked = !output.isEmpty
        guard !isBlocked else { return }
        if endsAfterFlush { return end() }
        session?.outputDrained()
    }

    private func end() {
        guard isOpen else { return }
        isOpen = false
        output = []
        scheduler.nextTurn { [self] in
            session?.connectionClosed()
            session = nil
        }
    }

    // MARK: The daemon's end

    var outputBytes: Int { output.count }
    var isWritable: Bool { isOpen && !isPeerGone && !endsAfterFlush }

    func begin(_ session: Session) {
        self.session = session
        isReading = true
    }

    func pauseReading() {
        (isReading, isPaused) = (false, true)
    }

    func resumeReading() {
        isPaused = false
        if !endsAfterFlush { isReading = true }
    }

    func write(_ bytes: [UInt8]) {
        guard isWritable else { return }
        wrote?(bytes, isBlocked)
        output += bytes
        mostOutput = max(mostOutput, output.count)
        guard !isBlocked, !isFlushScheduled else { return }
        isFlushScheduled = true
        lastOutputProgress = scheduler.now.nanoseconds
        scheduler.atEndOfTurn(.write) { [self] in
            isFlushScheduled = false
            if !isBlocked { flush() }
        }
    }

    func close() {
        if isOpen { isCutOff = true }
        end()
    }

    func closeAfterFlush() {
        endsAfterFlush = true
        isReading = false
        if output.isEmpty { end() }
    }
}
