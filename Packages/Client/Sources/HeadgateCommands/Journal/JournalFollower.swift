import Glibc
import HeadgateData
import HeadgateTransport

/// Tracks the entries of systemd's journal, each once, and stores its position (Behaviour L1).
///
/// `journalctl` reads the journal and follows it. It is on every machine with a journal, knows all of the journal's formats,
/// and takes the matches as they are. After a kill the entries behind the stored position are sent again under
/// the same ids, which the daemon recognises.
final class JournalFollower {
    private let loop: EventLoop
    private let sender: LineSender
    private let state: FollowState<JournalPosition>
    private let terminal: Terminal
    private let matches: [String]
    /// The end of the pipe that is read.
    private let reading: OwnedDescriptor
    /// The end of the pipe to which `journalctl` writes, until it is started.
    private var writing: OwnedDescriptor?
    private var cursors = JournalCursors()
    /// The position to store, and the position that is stored.
    private var reached: JournalPosition?
    private var kept: JournalPosition?
    private var program: LoopProgram?
    private var signals: [LoopSignal] = []
    /// The timer of the next save, and after a stop of the end.
    private var timer: LoopTimer?
    private var isStopping = false
    private var fault: (any Error)?

    /// The time between two saves of the position.
    private static let interval = Duration.milliseconds(500)
    /// The time to wait for outstanding answers at the end.
    private static let endTimeLimit = Duration.seconds(5)

    /// - Parameters:
    ///   - matches: the matches of `journalctl`, like `_SYSTEMD_UNIT=nginx.service`.
    ///   - storage: where the position is stored, and with which keys.
    init(_ matches: [String], _ format: LineFormat, _ storage: FollowStorage, _ invocation: Invocation) throws {
        self.matches = matches
        terminal = invocation.terminal
        let name = (["journal"] + matches).joined(separator: " ")
        state = FollowState(path: try storage.path(of: name), keyring: storage.keyring)
        loop = try EventLoop()
        (reading, writing) = try OwnedDescriptor.pipe()
        sender = try LineSender(format, of: reading.number, on: loop, timeLimit: nil, invocation)
    }

    /// Runs until it is stopped, or `journalctl` ends.
    func run() throws -> ExitCode {
        let start = try startPosition()
        timer = LoopTimer(on: loop) { [self] in timeIsUp() }
        signals = try LoopSignal.ofStops(on: loop) { [self] in stop() }
        sender.whenSent = { [self] line, event in if let id = event.generatedID { cursors.note(id, of: line) } }
        sender.whenAnswered = { [self] in if timer?.deadline == nil { timer?.arm(after: Self.interval) } }
        // Only the first line can be the entry at which the run starts.
        var isFirst = true
        sender.isSettled = { line in
            defer { isFirst = false }
            return isFirst && start.isEntry(line)
        }
        try follow(from: start)
        defer { (timer, signals) = (nil, []) }
        let code = try sender.run()
        try save()
        if let fault { throw fault }
        // The input may end before the end of its program is reported.
        guard isStopping else { throw FollowFault("journalctl ended") }
        return code
    }

    /// Returns the stored position. At the first start it stores the time: what the journal receives from now on is tracked,
    /// also if this run ends before the first entry.
    private func startPosition() throws -> JournalPosition {
        kept = try state.load()
        if let kept {
            if state.isOutdated { try state.save(kept) }
            return kept
        }
        let start = JournalPosition.time(loop.wallNow)
        try state.save(start)
        kept = start
        return start
    }

    /// Starts `journalctl` at a position.
    private func follow(from start: JournalPosition) throws {
        // With --follow alone journalctl leaves out entries of earlier boots, which may lie behind the position.
        let options = [
            "--follow", "--merge", "--output=json", "--all", "--quiet", "--no-pager", "--no-tail", start.option,
        ]
        let command = ["journalctl"] + options + ["--"] + matches
        guard let output = writing?.number else { return }
        program = try LoopProgram(command, input: try MemoryFile([]), output: output, on: loop) { [self] in ended($0) }
        // With this copy open the reader would not see the program's end.
        writing = nil
    }

    private func ended(_ end: LoopProgram.End) {
        program = nil
        guard !isStopping else { return }
        switch end {
        case .exited(let code): fault = FollowFault("journalctl ended with exit code \(code)")
        case .killed(let signal): fault = FollowFault("journalctl was ended by signal \(signal)")
        }
    }

    // MARK: The position

    private func timeIsUp() {
        guard !isStopping else { return sender.stop(nil) }
        do throws(FollowFault) {
            try save()
        } catch  where error.isPassing {
            terminal.printError(error.description)
            timer?.arm(after: Self.interval)
        } catch {
            sender.stop(error)
        }
    }

    private func save() throws(FollowFault) {
        reached = cursors.settle(through: sender.settledLine) ?? reached
        guard let reached, reached != kept else { return }
        try state.save(reached)
        kept = reached
    }

    // MARK: The end

    /// Ends `journalctl`, and with it the input. Lines in flight may still be answered.
    private func stop() {
        guard !isStopping else { return sender.stop(nil) }
        isStopping = true
        program?.signal(SIGTERM)
        timer?.arm(after: Self.endTimeLimit)
    }
}
