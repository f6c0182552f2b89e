import HeadgateCore
import HeadgateTransport

@testable import HeadgateServer

/// Both ends of a connection, and the wire between them. It keeps to what `Connection` does with a socket: it reads once an event,
/// writes at the end of the turn, and tells the loss of the client also while it is paused.
final class SimulatedConnection: SessionConnection {
    let peer = PeerCredentials(pid: 7, uid: 0, gid: 0, groups: [])
    private(set) var isOpen = true
    private(set) var lastOutputProgress: Int64
    /// Whether the daemon closed it at once, not after its output.
    private(set) var isCutOff = false
    /// How many more bytes the client's end takes.
    var room = Int.max
    /// The most output that was ever kept for the client.
    private(set) var mostOutput = 0
    /// Told of what the daemon writes, and whether the client has not taken all that was written before.
    var wrote: (([UInt8], Bool) -> Void)?

    /// When it was made.
    let begin: Instant
    /// Whether the daemon reads no further for now.
    private(set) var isPaused = false

    private let scheduler: SimulatedScheduler
    private var session: Session?
    private var isReading = false
    private var endsAfterFlush = false
    private var isPeerGone = false
    /// When the daemon was told that the client is gone.
    private(set) var peerGoneAt: Instant?
    private var hasReachedEnd = false
    private var isBlocked = false
    private var isFlushScheduled = false
    private var output: [UInt8] = []

    // The client's end.
    private var underWay: [UInt8] = []
    private var taken: [UInt8] = []
    private var isFinished = false
    private var isLost = false

    init(on scheduler: SimulatedScheduler) {
        self.scheduler = scheduler
        begin = scheduler.now
        lastOutputProgress = scheduler.now.nanoseconds
    }

    /// As the daemon names it; nil where it has none.
    var sessionName: String? { session?.name }

    // MARK: The client's end

    func send(_ bytes: [UInt8]) {
        underWay += bytes
    }

    /// The client sends nothing more.
    func finish() {
        isFinished = true
    }

    /// The daemon is gone.
    func forget() {
        isOpen = false
        session = nil
    }

    /// The client is gone. What it sent may still be read.
    func lose() {
        isLost = true
        taken = []
    }

    func take() -> [UInt8] {
        defer { taken = [] }
        return taken
    }

    // MARK: The wire

    /// Whether the loop would tell the daemon something of it.
    var hasNews: Bool {
        guard isOpen else { return false }
        if isBlocked, room > 0 { return true }
        return isExpectingInput ? !underWay.isEmpty || isFinished || isLost : isLost && !isPeerGone
    }

    /// The loop tells what is ready: at most so many bytes at once.
    func tell(most: Int) {
        if isBlocked, room > 0 { flush() }
        guard isOpen else { return }
        if isExpectingInput {
            if !underWay.isEmpty { read(min(most, underWay.count)) } else if isFinished || isLost { reachEnd() }
        } else if isLost {
            losePeer()
        }
    }

    private var isExpectingInput: Bool { isReading && !hasReachedEnd && isOpen }

    private func read(_ count: Int) {
        let bytes = Array(underWay.prefix(count)) + [UInt8](repeating: 0, count: 64)
        underWay.removeFirst(count)
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
