import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// Tracks the lines of a file as it grows, each once, and keeps how far it came.
///
/// It takes one piece of the file after the other: the lines of a piece are sent, and when all are answered the place behind
/// them is kept. After a kill the last piece is sent again, under the same ids, which the daemon knows. Of a named pipe it
/// follows the spool.
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
    private var timer: LoopTimer?
    private var signals: [LoopSignal] = []
    private var isResumed = false
    private var file: FollowedFile?
    /// Nil before the first file was there.
    private var place: FollowedPlace?
    /// The place that is on the disk.
    private var kept: FollowedPlace?
    /// The piece that is on its way.
    private var piece: Piece?
    /// Up to where bad lines were told; a piece that goes again does not tell them again.
    private var toldUpTo = -1
    /// Since when there was nothing new in a file that has lost its name, and how much of a line there was.
    private var quiet: (since: Int64, length: Int)?
    private var complaints = Complaints()
    /// How often in a row it was tried in vain to go on.
    private var tries = 0
    private var ids = UUIDv7()
    private var isStopping = false
    private var fault: (any Error)?

    /// What is sent together.
    private struct Piece {
        let bytes: [UInt8]
        var unanswered: Int
        /// Why some of it has to go again.
        var refusal: String?
    }

    private static let pieceLength = 256 * 1024
    /// A line of more bytes than this is skipped.
    private static let longestLine = 16 << 20
    /// How many bytes of a bad line of a pipe are told.
    private static let told = 80
    /// How often it is looked whether there is more.
    private static let interval = Duration.milliseconds(200)
    /// After how many seconds what did not go is tried again, at most.
    private static let longestDelay = 5
    /// How long a file that was renamed may still be written to.
    private static let rotationPatience: Int64 = 2_000_000_000
    /// How long answers are waited for at the end.
    private static let endPatience = Duration.seconds(5)

    init(_ path: String, state: String?, _ invocation: Invocation) throws {
        (name, self.path) = (path, path)
        self.state = FollowState(path: state ?? path + ".headgate")
        terminal = invocation.terminal
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: nil)
    }

    /// Goes on until a signal comes, or something is wrong that will not pass.
    func run() throws -> ExitCode {
        timer = LoopTimer(on: loop) { [self] in step() }
        signals = try [SIGINT, SIGTERM, SIGHUP].map { try LoopSignal($0, on: loop) { [self] in stop() } }
        step()
        loop.run()
        (timer, signals) = (nil, [])
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
    }

    /// The file of a place. Another one may have got its number since: of one with another name the content tells.
    private func lastFollowed(_ kept: FollowedPlace) throws(FollowFault) -> FollowedFile? {
        let hasMoved = spool == nil && FollowedFile.identity(of: path) != kept.file
        let place = hasMoved ? try RotatedFiles(beside: path).path(of: kept.file) : path
        guard let place, let found = try FollowedFile(place), found.identity == kept.file else { return nil }
        guard hasMoved else { return found }
        return try found.isStill(kept) ? found : nil
    }

    /// Follows the spool instead if it is a pipe.
    private func openSpool() throws(FollowFault) {
        let other = state.path + "-lines"
        guard spool == nil, PipeSpool.isNeeded(for: name, spool: other) else { return }
        (spool, path) = (try PipeSpool(other, of: name, terminal), other)
    }

    /// The first, or another, file of the name, from its beginning on. Its ids are on the disk before they are used.
    private func begin(_ found: FollowedFile) throws(FollowFault) {
        (file, place) = (found, FollowedPlace(found.identity, prefix: ids.next(at: loop.wallNow)))
        (toldUpTo, quiet) = (-1, nil)
        try keep()
    }

    /// Keeps the place, unless it is kept. Nothing is read before that.
    private func keep() throws(FollowFault) {
        guard let place, place != kept else { return }
        try state.save(place)
        kept = place
    }

    // MARK: One step

    private func step() {
        guard piece == nil, !isStopping else { return }
        do throws(FollowFault) {
            try look()
        } catch {
            fail(error)
        }
    }

    private func look() throws(FollowFault) {
        if !isResumed { try resume() }
        try keep()
        if file == nil {
            try openSpool()
            if let found = try FollowedFile(path) { try begin(found) }
        }
        guard let file, let place else { return wait() }
        guard try file.isStill(place) else {
            // A spool may have been emptied by this program, which was killed before it had kept the new place.
            if spool?.isEmpty != true {
                terminal.complain("\(path) was emptied, or is another file; it is followed from its beginning")
            }
            try begin(file)
            return step()
        }
        // Not before: lines that came to stand where the old place is would be taken for what stood there.
        spool?.read()
        let bytes = try piece(of: file, at: place)
        let isOver = isOver(file, bytes)
        let lines = FollowedLines(bytes, isLast: isOver)
        guard lines.length > 0 || bytes.count > Self.longestLine else { return isOver ? try leave() : wait() }
        try spool?.sync()
        send(lines, of: bytes, place)
    }

    /// What comes next: more than usual where a line is long.
    private func piece(of file: FollowedFile, at place: FollowedPlace) throws(FollowFault) -> [UInt8] {
        let bytes = try file.bytes(at: place.offset, upTo: Self.pieceLength)
        guard bytes.count == Self.pieceLength, !bytes.contains(UInt8(ascii: "\n")) else { return bytes }
        return try file.bytes(at: place.offset, upTo: Self.longestLine + 1)
    }

    /// Whether a file has lost its name, and was written to no more for a while.
    private func isOver(_ file: FollowedFile, _ rest: [UInt8]) -> Bool {
        guard spool == nil, FollowedFile.identity(of: path) != file.identity else {
            quiet = nil
            return false
        }
        if quiet?.length != rest.count { quiet = (loop.monotonicNow, rest.count) }
        return quiet.map { loop.monotonicNow - $0.since >= Self.rotationPatience } ?? false
    }

    /// All of a file that was renamed is done with: on to the next that was renamed since, or to the one that has the name now.
    private func leave() throws(FollowFault) {
        guard let file else { return }
        // Opened first: if it is renamed meanwhile it is among the others.
        let present = try FollowedFile(path)
        let others = try RotatedFiles(beside: path)
        let since = others.since(file.identity, modified: file.modified)
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
        tries = 0
        timer?.arm(after: Self.interval)
    }

    /// What may be over later is waited for, and nothing is read meanwhile.
    private func fail(_ fault: FollowFault) {
        guard fault.isPassing, !isStopping else { return end(fault) }
        tryAgain(because: fault.description)
    }

    private func tryAgain(because text: String) {
        if complaints.isNews(text) { terminal.complain("\(text); it is tried again until it goes") }
        timer?.arm(after: .seconds(min(Self.longestDelay, 1 << min(tries, 3))))
        tries += 1
    }

    // MARK: One piece

    private func send(_ lines: FollowedLines, of bytes: [UInt8], _ place: FollowedPlace) {
        // Without an end in all of it a line is too long, and what is read of it is passed over.
        let length = lines.length > 0 ? lines.length : bytes.count
        piece = Piece(bytes: Array(bytes[..<length]), unanswered: lines.lines.count)
        if lines.length == 0 { tell("the line is too long", at: place.offset) }
        for line in lines.lines { send(line, place) }
        if lines.lines.isEmpty { finish() }
    }

    private func send(_ line: FollowedLines.Line, _ place: FollowedPlace) {
        let offset = place.offset + line.start
        do throws(EventText.Fault) {
            let event = try EventText(line.bytes, id: place.id(at: line.start), scanner: scanner)
            connection.track(event) { [self] in take($0, at: offset) }
        } catch {
            tell(error.text, at: offset)
            answered()
        }
    }

    private func take(_ answer: Result<JSONView, any Error>, at offset: Int) {
        guard piece != nil else { return }
        do {
            _ = try answer.get()
        } catch ClientError.refused(let error) where error.fateOfLine == .goesAgain {
            piece?.refusal = error.message
        } catch ClientError.refused(let error) where error.fateOfLine == .isSkipped {
            tell(error.message, at: offset)
        } catch {
            return end(error)
        }
        answered()
    }

    private func answered() {
        piece?.unanswered -= 1
        finish()
    }

    private func finish() {
        guard let done = piece, done.unanswered == 0 else { return }
        piece = nil
        if let refusal = done.refusal { return isStopping ? end(nil) : tryAgain(because: refusal) }
        do throws(FollowFault) {
            place?.advance(over: done.bytes)
            try keep()
            if let file, let place, try spool?.empty(doneWith: place.offset) == true { try begin(file) }
        } catch {
            return fail(error)
        }
        guard !isStopping else { return end(nil) }
        tries = 0
        // Not at once: pieces whose lines are all bad would be done one inside the other.
        timer?.arm(after: .zero)
    }

    private func tell(_ text: String, at offset: Int) {
        guard offset > toldUpTo else { return }
        toldUpTo = offset
        terminal.complain(
            spool == nil ? "\(name), byte \(offset): \(text)" : "\(name): \(text): \(beginning(at: offset))")
    }

    /// The beginning of a line of the piece: of a pipe nobody could look up a place.
    private func beginning(at offset: Int) -> String {
        guard let piece, let place else { return "" }
        let line = piece.bytes.dropFirst(offset - place.offset).prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: line.prefix(Self.told), as: UTF8.self) + (line.count > Self.told ? "…" : "")
    }

    // MARK: The end

    /// What is on its way may still be answered.
    private func stop() {
        guard !isStopping else { return end(nil) }
        isStopping = true
        spool?.stop()
        guard piece != nil else { return leaveOff() }
        timer = LoopTimer(on: loop) { [self] in end(nil) }
        timer?.arm(after: Self.endPatience)
    }

    private func leaveOff() {
        do throws(FollowFault) {
            try keep()
            end(nil)
        } catch {
            end(error)
        }
    }

    private func end(_ fault: (any Error)?) {
        (self.fault, isStopping, piece) = (fault, true, nil)
        spool?.stop()
        connection.close()
        loop.stop()
    }
}
