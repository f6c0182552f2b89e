import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// Tracks the lines of a file as it grows, each once, and keeps how far it came (Behaviour L1–L5).
///
/// It takes one piece of the file after the other. The lines of a piece are sent together; those that the daemon may take
/// later are sent again, alone. Once all are done with, the place behind them is kept. After a kill the lines of the last
/// piece are sent again, under the same ids, which the daemon knows. Of a named pipe it follows the spool.
final class Follower {
    /// As it was given.
    private let name: String
    /// What is followed: the same, or a pipe's spool.
    private var path: String
    private var spool: PipeSpool?
    private let terminal: Terminal
    private let state: FollowState
    private let loop: EventLoop
    private let connection: ClientConnection
    private let scanner = JSONScanner()
    /// Looks at the file from time to time.
    private var timer: LoopTimer?
    /// Tries again what did not go.
    private var retry: LoopTimer?
    private var news: FileNews?
    private var signals: [LoopSignal] = []
    private var isResumed = false
    private var file: FollowedFile?
    /// Nil before the first file was there.
    private var place: FollowedPlace?
    /// The place that is on the disk.
    private var kept: FollowedPlace?
    /// The piece that is under way.
    private var piece: FollowedPiece?
    /// Why lines of the piece have to be sent again.
    private var refusal: String?
    /// True while something else than the daemon has to get better first, such as a full disk.
    private var isHeld = false
    private var renamed = RenamedFile()
    private var complaints = Complaints()
    /// How often in a row it was tried in vain to go on.
    private var tries = 0
    private var ids = UUIDv7()
    private var isStopping = false
    private var fault: (any Error)?

    private static let pieceLength = 256 * 1024
    /// A line of more bytes than this is skipped.
    private static let longestLine = 16 << 20
    /// The time after which it looks whether there is more, if nothing reports it.
    private static let interval = Duration.milliseconds(200)
    /// The same if changes are reported.
    private static let longInterval = Duration.seconds(1)
    /// The most seconds after which what did not go is tried again.
    private static let longestDelay = 5
    /// The time for which answers are waited for at the end.
    private static let endPatience = Duration.seconds(5)

    init(_ path: String, state: String?, _ invocation: Invocation) throws {
        (name, self.path) = (path, path)
        self.state = FollowState(path: state ?? path + ".headgate")
        terminal = invocation.terminal
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: nil)
    }

    /// Goes on until it is told to stop, or cannot go on.
    func run() throws -> ExitCode {
        timer = LoopTimer(on: loop) { [self] in step() }
        retry = LoopTimer(on: loop) { [self] in tryNow() }
        news = FileNews(on: loop) { [self] in step() }
        signals = try [SIGINT, SIGTERM, SIGHUP].filter { !ProcessSignals.isIgnored($0) }.map {
            try LoopSignal($0, on: loop) { [self] in stop() }
        }
        step()
        loop.run()
        (timer, retry, news, signals) = (nil, nil, nil, [])
        if let fault { throw fault }
        return .success
    }

    // MARK: Which file

    /// Goes on in the file that was followed last, also under another name.
    private func resume() throws(FollowFault) {
        let kept = try state.load()
        try openSpool()
        let found = if let kept { try lastFollowed(kept) } else { nil as FollowedFile? }
        isResumed = true
        guard let kept else { return }
        guard let found else {
            let what = "what was behind byte \(kept.offset), and in files that were renamed since, is not sent"
            return terminal.complain("the file that was followed is gone, deleted or compressed: \(what)")
        }
        (file, place, self.kept) = (found, kept, kept)
        news?.watchFile(found)
    }

    /// The file of a place. Another one may have got its number since: the time at which it was made tells, and of one with
    /// another name the content.
    private func lastFollowed(_ kept: FollowedPlace) throws(FollowFault) -> FollowedFile? {
        let hasMoved = spool == nil && FollowedFile.identity(of: path) != kept.file
        let place = hasMoved ? try RotatedFiles(beside: path).path(of: kept.file) : path
        guard let place, let found = try FollowedFile(place), found.identity == kept.file else { return nil }
        guard kept.birth == 0 || kept.birth == found.birth else { return nil }
        guard hasMoved else { return found }
        return try found.isStill(kept) ? found : nil
    }

    /// Follows the spool instead if it is a pipe.
    private func openSpool() throws(FollowFault) {
        let other = state.path + "-lines"
        guard spool == nil, PipeSpool.isNeeded(for: name, spool: other) else { return }
        (spool, path) = (try PipeSpool(other, of: name, terminal), other)
    }

    /// Begins a file of the name, or the same one once it was emptied. Its ids are on the disk before they are used.
    /// - Parameter format: what is known of its lines already.
    private func begin(_ found: FollowedFile, format: FileFormat = FileFormat()) throws(FollowFault) {
        var new = FollowedPlace(found.identity, prefix: ids.next(at: loop.wallNow))
        (new.birth, new.format, new.seen) = (found.birth, format, found.shape)
        if file !== found { news?.watchFile(found) }
        (file, place, renamed) = (found, new, RenamedFile())
        try keep()
    }

    /// Keeps the place, unless it is kept. Nothing is read before that.
    private func keep() throws(FollowFault) {
        guard let place, !place.isSame(as: kept) else { return }
        try state.save(place)
        kept = place
    }

    // MARK: One step

    /// Looks at the file. It is called when the file may have changed, and from time to time.
    private func step() {
        guard !isStopping, !isHeld else { return }
        do throws(FollowFault) {
            try look()
        } catch {
            fail(error)
        }
    }

    private func look() throws(FollowFault) {
        news?.watchFolder(of: path)
        if !isResumed { try resume() }
        try keep()
        if file == nil {
            try openSpool()
            if let found = try FollowedFile(path) { try begin(found) }
        }
        guard let file else { return wait() }
        try notice(file)
        // What is behind the piece is read once the piece is done with.
        guard piece == nil, let offset = place?.offset else { return wait() }
        place?.skip(to: file.nextData(from: offset))
        guard let place else { return }
        // Not before: lines that came to stand where the old place is would be taken for what stood there.
        spool?.read()
        let bytes = try bytes(of: file, at: place)
        let isOver = isOver(file)
        let read = FollowedRead(bytes, at: place, isLast: isOver, longest: Self.longestLine) { [scanner] line in
            (try? EventText(line, scanner: scanner))?.hasName ?? false
        }
        guard let next = read.next else { return isOver ? try leave() : wait() }
        try spool?.sync()
        take(next)
    }

    /// Begins the file again if it was emptied or written anew (Behaviour L4), also while lines that were read before are
    /// under way.
    private func notice(_ file: FollowedFile) throws(FollowFault) {
        guard let place else { return }
        let wasEmptied = try file.wasEmptied()
        file.watchBeginning()
        let shape = file.shape
        let isReplaced = wasEmptied ? true : try isReplaced(file, place, shape)
        guard isReplaced else {
            self.place?.seen = shape
            return
        }
        let text = "\(path) was emptied, or is another file; it is followed from its beginning"
        // A spool may have been emptied by this program, which was killed before it had kept the new place.
        if spool?.isEmpty != true, place.offset > 0, complaints.isNews(text) { terminal.complain(text) }
        try begin(file)
    }

    private func isReplaced(
        _ file: FollowedFile, _ place: FollowedPlace, _ shape: FileShape
    ) throws(FollowFault) -> Bool {
        let trustsTimes = file.hasLocalTimes
        if place.isReplaced(by: shape, trustsTimes: trustsTimes),
            place.isReplaced(by: file.shapeBetweenWrites, trustsTimes: trustsTimes)
        {
            return true
        }
        return try !file.isStill(place)
    }

    /// What comes next: more than usual where a line is long.
    private func bytes(of file: FollowedFile, at place: FollowedPlace) throws(FollowFault) -> [UInt8] {
        let bytes = try file.bytes(at: place.offset, upTo: Self.pieceLength)
        guard bytes.count == Self.pieceLength, bytes.lineFeed(from: 0) == nil else { return bytes }
        return try file.bytes(at: place.offset, upTo: Self.longestLine + 1)
    }

    /// Returns true if a file has lost its name, and was not written to for a while.
    private func isOver(_ file: FollowedFile) -> Bool {
        guard spool == nil, FollowedFile.identity(of: path) != file.identity else {
            renamed = RenamedFile()
            return false
        }
        return renamed.isOver(size: file.shape.size, at: loop.monotonicNow)
    }

    /// All of a file that was renamed is done with: on to the next that was renamed since, or to the one that has the name now.
    private func leave() throws(FollowFault) {
        guard let file else { return }
        // Opened first: if it is renamed meanwhile it is among the others.
        let present = try FollowedFile(path)
        let others = try RotatedFiles(beside: path)
        let since = others.since(file.identity, modified: file.shape.modified)
        let renamed = since.first { !$0.isCompressed }
        let elsewhere = renamed.flatMap { $0.file == present?.identity ? nil : path + $0.suffix }
        let next = if let elsewhere { try FollowedFile(elsewhere) } else { present }
        // Names change while they are read; so it is looked again.
        guard let next, renamed == nil || next.identity == renamed?.file else { return wait() }
        for lost in since.prefix(while: \.isCompressed) {
            terminal.complain("\(path)\(lost.suffix) is compressed: what is in it is not sent")
        }
        try begin(next)
        step()
    }

    private func wait() {
        let isReported = news?.isWatchingFile == true && FollowedFile.identity(of: path) == file?.identity
        timer?.arm(after: isReported ? Self.longInterval : Self.interval)
    }

    /// What may be over later is waited for, and nothing is read meanwhile.
    private func fail(_ fault: FollowFault) {
        guard fault.isPassing, !isStopping else { return end(fault) }
        isHeld = true
        tryAgain(because: fault.description)
    }

    private func tryAgain(because text: String) {
        if complaints.isNews(text) { terminal.complain("\(text); it is tried again until it goes") }
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
        guard let place else { return }
        if next.format.isForeign { return end(FollowFault(foreign: name, like: next.lines.last?.bytes ?? [])) }
        piece = FollowedPiece(
            next.lines, of: next.bytes, at: place, format: next.format, endsInLongLine: next.endsInLongLine)
        if next.hasLongLine { tell("the line is too long", place.offset, next.bytes) }
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
        do throws(EventText.Fault) {
            let event = try EventText(line.bytes, id: "\(piece.prefix)-\(offset)", scanner: scanner)
            connection.track(event) { [self] in take($0, of: index) }
        } catch {
            tell(error.text, offset, line.bytes)
            self.piece?.settle(index)
        }
    }

    private func take(_ answer: Result<JSONView, any Error>, of index: Int) {
        guard let piece else { return }
        do {
            _ = try answer.get()
            self.piece?.settle(index)
        } catch ClientError.refused(let error) where error.fateOfLine == .goesAgain {
            refusal = error.message
            self.piece?.reopen(index)
        } catch ClientError.refused(let error) where error.fateOfLine == .isSkipped {
            tell(error.message, piece.offset(of: index), piece.lines[index].line.bytes)
            self.piece?.settle(index)
        } catch {
            return end(error)
        }
        if self.piece?.isAnswered == true { finish() }
    }

    /// All lines that were sent are answered: the place moves, and what was refused is sent again later.
    private func finish() {
        guard let done = piece, done.isAnswered else { return }
        if done.isAllSettled { piece = nil }
        do throws(FollowFault) {
            place?.note(done)
            try keep()
            if let file, let place, try spool?.empty(doneWith: place.offset) == true {
                try begin(file, format: place.format)
            }
        } catch {
            return fail(error)
        }
        guard !isStopping else { return end(nil) }
        guard done.isAllSettled else { return tryAgain(because: refusal ?? "") }
        tries = 0
        // Not at once: pieces whose lines are all bad would be done one inside the other.
        timer?.arm(after: .zero)
    }

    private func tell(_ text: String, _ offset: Int, _ line: [UInt8]) {
        // Of a pipe nobody could look up a position.
        terminal.complain(
            spool == nil
                ? "\(name), byte \(offset): \(text)" : "\(name): \(text): \(FollowFault.beginning(of: line))")
    }

    // MARK: The end

    /// What is under way may still be answered.
    private func stop() {
        guard !isStopping else { return end(nil) }
        isStopping = true
        spool?.stop()
        guard piece?.isAnswered == false else { return leaveOff() }
        timer = LoopTimer(on: loop) { [self] in end(nil) }
        timer?.arm(after: Self.endPatience)
    }

    /// Keeps what is done with, and how the file looks now.
    private func leaveOff() {
        do throws(FollowFault) {
            if let file { try notice(file) }
            if let place, place != kept { try state.save(place) }
            end(nil)
        } catch {
            end(error)
        }
    }

    private func end(_ fault: (any Error)?) {
        if let piece {
            // Else they would be sent again, although nothing was killed.
            place?.note(piece)
            try? keep()
        }
        (self.fault, isStopping, piece) = (fault, true, nil)
        spool?.stop()
        connection.close()
        loop.stop()
    }
}
