import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// Tracks the lines of a file as it grows, each once, and stores its position (Behaviour L1–L5).
///
/// The follower handles one piece of the file after the other. It sends the lines of a piece together, and sends
/// refused lines again, alone. Once all lines are settled, it stores the position after them. After a kill it sends the
/// last piece again under the same IDs, which the daemon recognises. For a named pipe it follows the pipe's spool.
final class Follower {
    /// The path from the command line.
    private let name: String
    /// The path of the followed file: the same path, or that of a pipe's spool.
    private var path: String
    private var spool: PipeSpool?
    private let terminal: Terminal
    private let state: FollowState<FollowerPosition>
    private let storage: FollowStorage
    private let loop: EventLoop
    private let connection: ClientConnection
    private let format: LineFormat
    private let scanner = JSONScanner()
    /// The timer that checks the file at intervals.
    private var timer: LoopTimer?
    /// The timer that repeats a failed step.
    private var retry: LoopTimer?
    private var news: FileChanges?
    private let whenEnded: ((any Error)?) -> Void
    private var isResumed = false
    private var file: FollowedFile?
    /// The position in the file, or nil before the first file exists.
    private var position: FollowerPosition?
    /// The position that is stored on the disk.
    private var kept: FollowerPosition?
    /// The piece that is being sent, or nil.
    private var piece: LineBatch?
    /// The reason why lines of the piece must be sent again, or nil.
    private var refusal: String?
    /// True while the follower waits for a fault to pass, such as a full disk.
    private var isHeld = false
    private var renamed = RenamedFile()
    private var throttle = MessageThrottle()
    /// The number of consecutive failed attempts.
    private var tries = 0
    private var ids = UUIDv7()
    private var isStopping = false
    private var hasEnded = false

    private static let pieceLength = 256 * 1024
    /// The most bytes of a line. A longer line is skipped.
    private static let longestLine = 16 << 20
    /// The time between two checks of the file, if changes are not reported.
    private static let interval = Duration.milliseconds(200)
    /// The time between two checks of the file, if changes are reported.
    private static let longInterval = Duration.seconds(1)
    /// The longest time until a failed step is repeated, in seconds.
    private static let longestDelay = 5
    /// The time to wait for outstanding answers at the end.
    private static let endTimeLimit = Duration.seconds(5)

    /// - Parameters:
    ///   - storage: where the position is stored, and with which keys.
    ///   - whenEnded: called once, with the fault that ended the follower, or nil after a stop.
    init(
        _ path: String, _ format: LineFormat, _ storage: FollowStorage, on loop: EventLoop, _ invocation: Invocation,
        whenEnded: @escaping ((any Error)?) -> Void
    ) throws {
        (name, self.path, self.format, self.loop, self.whenEnded) = (path, path, format, loop, whenEnded)
        self.storage = storage
        state = FollowState(path: try storage.path(of: FollowDirectory.absolute(path)), keyring: storage.keyring)
        terminal = invocation.terminal
        connection = invocation.connection(on: loop, reconnectingFor: nil)
    }

    /// The file that is followed, or nil before it exists.
    var followedFile: FollowerPosition.File? { file?.identity }

    /// Begins to follow, until the follower is stopped or cannot go on.
    func start() {
        timer = LoopTimer(on: loop) { [weak self] in self?.step() }
        retry = LoopTimer(on: loop) { [weak self] in self?.tryNow() }
        news = FileChanges(on: loop) { [weak self] in self?.step() }
        reach()
        step()
    }

    /// Connects before there is a line to send. The follower ends if it cannot reach the daemon now. Later it waits for a
    /// daemon that goes away.
    private func reach() {
        _ = connection.call("ping") { [self] answer in
            guard case .failure(let error as ClientError) = answer, case .cannotConnect = error, !isStopping else {
                return
            }
            end(error)
        }
    }

    // MARK: Choosing the file

    /// Continues in the file of the stored position, even if the file was renamed.
    private func resume() throws(FollowFault) {
        let kept = try state.load()
        let isKept = try openSpool(kept)
        let found = if let kept { try lastFollowed(kept) } else { nil as FollowedFile? }
        isResumed = true
        guard let kept, isKept else { return }
        guard let found else {
            let what = "lines after byte \(kept.offset), and lines of files renamed since, were not sent"
            return terminal.printError("the followed file was deleted or compressed: \(what)")
        }
        (file, position, self.kept) = (found, kept, kept)
        news?.watchFile(found)
        if state.isOutdated { try state.save(kept) }
        try emptySpool()
    }

    /// Returns the file of a position, or nil if it is gone. Another file may have got its inode since. The creation
    /// time shows that, and for a renamed file also the content.
    private func lastFollowed(_ kept: FollowerPosition) throws(FollowFault) -> FollowedFile? {
        let hasMoved = spool == nil && FollowedFile.identity(of: path) != kept.file
        let position = hasMoved ? try RotatedFiles(beside: path).path(of: kept.file) : path
        guard let position, let found = try FollowedFile(position, of: spool), found.identity == kept.file else {
            return nil
        }
        guard kept.birth == 0 || kept.birth == found.birth else { return nil }
        guard hasMoved else { return found }
        return try found.isStill(kept) ? found : nil
    }

    /// Follows the spool instead of the path if the path is a named pipe. Removes the spool from before encryption was
    /// switched on or off.
    /// - Returns: false if the position was one in a removed spool.
    @discardableResult private func openSpool(_ kept: FollowerPosition?) throws(FollowFault) -> Bool {
        let names = SpoolNames(beside: state.path, storage, terminal)
        guard spool == nil, PipeSpool.isNeeded(for: name, spools: [names.plain, names.encrypted]) else { return true }
        let isOther = kept?.file == FollowedFile.identity(of: names.other)
        try names.removeOther(at: kept)
        spool = try PipeSpool(names.present, of: name, keyring: storage.encrypting, terminal)
        path = names.present
        return !isOther
    }

    /// Empties the spool if that is useful, and starts it again.
    private func emptySpool() throws(FollowFault) {
        guard let file, let position, try spool?.empty(doneWith: position.offset) == true else { return }
        try begin(file, format: position.format)
    }

    /// Starts a new file, or the same one after a truncation. The prefix of its IDs is on the disk before an ID is
    /// used.
    /// - Parameter format: the format that the earlier lines have shown.
    private func begin(_ found: FollowedFile, format: FileFormat = FileFormat()) throws(FollowFault) {
        var new = FollowerPosition(found.identity, prefix: ids.next(at: loop.wallNow))
        (new.birth, new.format, new.seen) = (found.birth, format, found.shape)
        if file !== found { news?.watchFile(found) }
        (file, position, renamed) = (found, new, RenamedFile())
        try keep()
    }

    /// Stores the position, unless it is stored. The follower reads nothing before that.
    private func keep() throws(FollowFault) {
        guard let position, !position.isSame(as: kept) else { return }
        try state.save(position)
        kept = position
    }

    // MARK: One step

    /// Checks the file. It is called when the file may have changed, and at intervals.
    private func step() {
        guard !isStopping, !isHeld else { return }
        do throws(FollowFault) {
            try checkFile()
        } catch {
            fail(error)
        }
    }

    private func checkFile() throws(FollowFault) {
        news?.watchFolder(of: path)
        if !isResumed { try resume() }
        try keep()
        if file == nil {
            try openSpool(kept)
            if let found = try FollowedFile(path, of: spool) { try begin(found) }
        }
        guard let file else { return wait() }
        try notice(file)
        // Bytes after the piece are read when the piece is settled.
        guard piece == nil, let offset = position?.offset else { return wait() }
        position?.skip(to: file.nextData(from: offset))
        guard let position else { return }
        // The pipe is read only after the checks. Otherwise new lines at the old position could pass for the old ones.
        spool?.read()
        let bytes = try bytes(of: file, at: position)
        let isOver = isOver(file)
        let read = FollowedRead(bytes, at: position, isLast: isOver, longest: Self.longestLine) { [format, scanner] in
            format.canRead($0, scanner: scanner)
        }
        guard let next = read.next else { return isOver ? try leave() : wait() }
        try spool?.sync()
        take(next)
    }

    /// Starts the file again if it was truncated or rewritten (Behaviour L4), even while earlier lines are being sent.
    private func notice(_ file: FollowedFile) throws(FollowFault) {
        guard let position else { return }
        let wasEmptied = try file.wasEmptied()
        file.watchBeginning()
        let shape = file.shape
        let isReplaced = wasEmptied ? true : try isReplaced(file, position, shape)
        guard isReplaced else {
            self.position?.seen = shape
            return
        }
        let text = "\(path) was truncated or replaced; following it from its start"
        // A spool may have been emptied by this program, which was killed before it stored the new position.
        if spool?.isEmpty != true, position.offset > 0, throttle.isNews(text) { terminal.printError(text) }
        try begin(file)
    }

    private func isReplaced(
        _ file: FollowedFile, _ position: FollowerPosition, _ shape: FileMetadata
    ) throws(FollowFault) -> Bool {
        let trustsTimes = file.hasLocalTimes
        if !file.isEncrypted, position.isReplaced(by: shape, trustsTimes: trustsTimes),
            position.isReplaced(by: file.shapeBetweenWrites, trustsTimes: trustsTimes)
        {
            return true
        }
        return try !file.isStill(position)
    }

    /// Returns the next bytes, more than usual if a line is long.
    private func bytes(of file: FollowedFile, at position: FollowerPosition) throws(FollowFault) -> [UInt8] {
        let bytes = try file.bytes(at: position.offset, upTo: Self.pieceLength)
        guard bytes.count == Self.pieceLength, bytes.lineFeed(from: 0) == nil else { return bytes }
        return try file.bytes(at: position.offset, upTo: Self.longestLine + 1)
    }

    /// Returns true if a file was renamed or deleted, and was not written to for a while.
    private func isOver(_ file: FollowedFile) -> Bool {
        guard spool == nil, FollowedFile.identity(of: path) != file.identity else {
            renamed = RenamedFile()
            return false
        }
        // Times of a network file system may come from different clocks.
        let successor = file.hasLocalTimes ? FollowedFile.modified(path) : nil
        return renamed.isOver(file.shape, successor: successor, at: loop.monotonicNow)
    }

    /// Leaves a renamed file whose lines are all settled. Continues in the next file that was renamed since, or in the
    /// file that now has the name.
    private func leave() throws(FollowFault) {
        guard let file else { return }
        // The file that has the name is opened first. If it is renamed meanwhile, it is in the list of renamed files.
        let present = try FollowedFile(path)
        let others = try RotatedFiles(beside: path)
        let since = others.since(file.identity, modified: file.shape.modified)
        let renamed = since.first { !$0.isCompressed }
        let elsewhere = renamed.flatMap { $0.file == present?.identity ? nil : path + $0.suffix }
        let next = if let elsewhere { try FollowedFile(elsewhere) } else { present }
        // Names may change while they are read. If they disagree, the next step tries again.
        guard let next, renamed == nil || next.identity == renamed?.file else { return wait() }
        for lost in since.prefix(while: \.isCompressed) {
            terminal.printError("\(path)\(lost.suffix) is compressed: its lines are not sent")
        }
        try begin(next)
        step()
    }

    private func wait() {
        let isReported = news?.isWatchingFile == true && FollowedFile.identity(of: path) == file?.identity
        timer?.arm(after: isReported ? Self.longInterval : Self.interval)
    }

    /// Handles a fault. If it may pass, the follower waits and reads nothing meanwhile.
    private func fail(_ fault: FollowFault) {
        guard fault.isPassing, !isStopping else { return end(fault) }
        isHeld = true
        tryAgain(because: fault.description)
    }

    private func tryAgain(because text: String) {
        if throttle.isNews(text) { terminal.printError("\(text); retrying") }
        retry?.arm(after: .seconds(min(Self.longestDelay, 1 << min(tries, 3))))
        tries += 1
    }

    private func tryNow() {
        isHeld = false
        if piece != nil { sendOpen() }
        step()
    }

    // MARK: One piece

    private func take(_ next: FollowedRead.Next) {
        guard let position else { return }
        if next.format.isForeign {
            return end(FollowFault(foreign: name, like: next.lines.last?.bytes ?? [], expected: format.example))
        }
        piece = LineBatch(
            next.lines, of: next.bytes, at: position, format: next.format, endsInLongLine: next.endsInLongLine)
        if next.hasLongLine { report("the line is too long", position.offset, next.bytes) }
        wait()
        sendOpen()
        if piece?.isAnswered == true { finish() }
    }

    private func sendOpen() {
        refusal = nil
        for index in piece?.takeOpen() ?? [] { send(index) }
    }

    private func send(_ index: Int) {
        guard let piece else { return }
        let (line, offset) = (piece.lines[index].line, piece.offset(of: index))
        do throws(LineFormat.Fault) {
            let event = try format.read(line.bytes, id: "\(piece.prefix)-\(offset)", scanner: scanner)
            connection.track(event) { [self] in take($0, of: index) }
        } catch {
            report(error.text, offset, line.bytes)
            self.piece?.settle(index)
        }
    }

    private func take(_ answer: Result<JSONView, any Error>, of index: Int) {
        guard let piece else { return }
        do {
            _ = try answer.get()
            self.piece?.settle(index)
        } catch ClientError.refused(let error) where error.lineDecision == .goesAgain {
            refusal = error.message
            self.piece?.reopen(index)
        } catch ClientError.refused(let error) where error.lineDecision == .isSkipped {
            report(error.message, piece.offset(of: index), piece.lines[index].line.bytes)
            self.piece?.settle(index)
        } catch {
            return end(error)
        }
        if self.piece?.isAnswered == true { finish() }
    }

    /// Handles a piece whose sent lines are all answered: moves the position, and sends refused lines again later.
    private func finish() {
        guard let done = piece, done.isAnswered else { return }
        if done.isAllSettled { piece = nil }
        do throws(FollowFault) {
            position?.note(done)
            try keep()
            try emptySpool()
        } catch {
            return fail(error)
        }
        guard !isStopping else { return end(nil) }
        guard done.isAllSettled else { return tryAgain(because: refusal ?? "") }
        tries = 0
        // A later turn, because pieces with only bad lines would otherwise nest.
        timer?.arm(after: .zero)
    }

    private func report(_ text: String, _ offset: Int, _ line: [UInt8]) {
        // For a pipe the line is shown, because its position cannot be looked up.
        terminal.printError(
            spool == nil
                ? "\(name), byte \(offset): \(text)" : "\(name): \(text): \(FollowFault.beginning(of: line))")
    }

    // MARK: The end

    /// Stops the follower. Lines in flight may still be answered. A second call does not wait for them.
    func stop() {
        guard !hasEnded else { return }
        guard !isStopping else { return end(nil) }
        isStopping = true
        spool?.stop()
        guard piece?.isAnswered == false else { return stopAtPosition() }
        timer = LoopTimer(on: loop) { [weak self] in self?.end(nil) }
        timer?.arm(after: Self.endTimeLimit)
    }

    /// Stores the position and the file's present shape.
    private func stopAtPosition() {
        do throws(FollowFault) {
            if let file { try notice(file) }
            if let position, position != kept { try state.save(position) }
            end(nil)
        } catch {
            end(error)
        }
    }

    private func end(_ fault: (any Error)?) {
        guard !hasEnded else { return }
        if let piece {
            // Without this, settled lines would be sent again at the next start.
            position?.note(piece)
            try? keep()
        }
        (hasEnded, isStopping, piece) = (true, true, nil)
        spool?.stop()
        connection.close()
        timer?.cancel()
        retry?.cancel()
        news = nil
        whenEnded(fault)
    }
}
