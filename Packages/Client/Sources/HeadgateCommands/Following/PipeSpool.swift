import CPipe
import Glibc
import HeadgateTransport

/// Moves what is written to a named pipe to the end of a file, its spool, which unlike a pipe can be read again.
///
/// The kernel moves it, so that at every moment a byte is either in the pipe or in the spool: neither a kill nor a full disk
/// can lose one in between. It is done on a thread of its own, in bulk, so that writers seldom wait.
final class PipeSpool: Sendable {
    private let path: String
    private let source: Guarded<PipeSource>

    /// How long a spool has to be before it is emptied.
    static let shortest = 8 << 20
    /// A spool of this length takes no more before it is emptied, so that the writers wait.
    static let longest = 64 << 20

    /// Whether a path is that of a pipe; or nothing is there, and a pipe had this spool.
    static func isNeeded(for path: String, spool: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT && FollowedFile.identity(of: spool) != nil }
        return status.st_mode & S_IFMT == S_IFIFO
    }

    /// Opens or makes the spool, for whoever has the state that it belongs to. Nothing is read of the pipe before ``read()``.
    init(_ path: String, of pipe: String, longest: Int = PipeSpool.longest, _ terminal: Terminal) throws(FollowFault) {
        let descriptor = OwnedDescriptor(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
        guard descriptor.number >= 0 else { throw FollowFault("open", path) }
        var first = PipeSource(path: pipe, spoolPath: path, spool: descriptor, longest: longest)
        if let fault = first.open() { throw fault }
        (self.path, source) = (path, Guarded(first))
        do throws(TransportError) {
            let thread = try EventLoop.onNewThread(named: "headgate-pipe")
            thread.submit { [source] in PipeSpool.move(source, terminal) }
            thread.stop()
        } catch {
            throw FollowFault("cannot read \(pipe): \(error)")
        }
    }

    deinit {
        stop()
    }

    /// Begins to read the pipe, unless that was done before.
    func read() {
        source.withLock { if $0.phase == .waiting { $0.phase = .reading } }
    }

    /// Ends reading: nothing is taken out of the pipe once this has returned.
    func stop() {
        source.withLock { $0.phase = .stopped }
    }

    var isEmpty: Bool { source.withLock { $0.length == 0 } }

    /// Makes what is in the spool outlast a power failure. Until then its lines have no ids that others may know: what is
    /// lost gives its places, and so its ids, to other lines. What failed is not tried again: the kernel may say that all
    /// is well although it has given up what it could not write.
    func sync() throws(FollowFault) {
        let isSynced = source.withLock { fdatasync($0.spool.number) == 0 }
        guard isSynced else { throw FollowFault("write", path, passing: []) }
    }

    /// Empties a long spool if all of it is done with, and it has this length. It is empty on the disk before a place says so:
    /// after a kill in between it is shorter than its place, and so begun anew.
    /// - Returns: whether it was emptied.
    func empty(doneWith length: Int, shortest: Int = PipeSpool.shortest) throws(FollowFault) -> Bool {
        let code: Int32? = source.withLock { source in
            guard length >= shortest, source.length == length else { return nil }
            return ftruncate(source.spool.number, 0) == 0 && fsync(source.spool.number) == 0 ? 0 : errno
        }
        guard let code else { return false }
        guard code == 0 else { throw FollowFault("empty", path, code, passing: []) }
        return true
    }

    // MARK: The thread

    /// Goes on until it is stopped. What fails is told, and tried again: it stays in the pipe.
    private static func move(_ source: Guarded<PipeSource>, _ terminal: Terminal) {
        var complaints = Complaints()
        while true {
            source.wait { $0.phase == .stopped || $0.phase == .reading && $0.room > 0 }
            guard let pipe = source.withLock({ $0.phase == .stopped ? nil : $0.pipe?.number ?? -1 }) else { return }
            // A negative descriptor, of a pipe that is not there, is passed over.
            var state = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            let isReadable = poll(&state, 1, interval) > 0
            let fault = source.withLock { isReadable ? $0.move() : $0.open() }?.description
            if let fault {
                if complaints.isNews(fault) { terminal.complain(fault) }
                poll(nil, 0, interval)
            }
        }
    }

    /// How often it is looked whether the pipe is another one, or the disk has room again, in milliseconds.
    private static let interval: Int32 = 200
}

/// The pipe and its spool, as the thread and who follows the spool share them.
private struct PipeSource: Sendable {
    enum Phase {
        case waiting
        case reading
        case stopped
    }

    let path: String
    let spoolPath: String
    let spool: OwnedDescriptor
    let longest: Int
    /// Nil while there is none.
    private(set) var pipe: OwnedDescriptor?
    private var identity: FollowedPlace.File?
    var phase = Phase.waiting

    init(path: String, spoolPath: String, spool: OwnedDescriptor, longest: Int) {
        (self.path, self.spoolPath, self.spool, self.longest) = (path, spoolPath, spool, longest)
    }

    var length: Int { Int(lseek(spool.number, 0, SEEK_END)) }

    /// How many bytes may be moved now. A full spool takes the rest of a line, since only whole lines are ever done with.
    var room: Int {
        guard length >= longest else { return Self.mostOfPipe }
        var last: UInt8 = 0
        pread(spool.number, &last, 1, length - 1)
        return last == UInt8(ascii: "\n") ? 0 : 1
    }

    /// More than a pipe usually holds: what was written in one piece is moved in one piece.
    private static let mostOfPipe = 1 << 20

    /// Moves what there is.
    /// - Returns: why it cannot be moved.
    func move() -> FollowFault? {
        guard phase == .reading, let pipe else { return nil }
        let isMoved = cpipe_move(pipe.number, spool.number, Int64(length), room) >= 0
        return isMoved || errno == EAGAIN || errno == EINTR ? nil : FollowFault("write", spoolPath)
    }

    /// Opens the pipe that has the name now, for reading and writing, so that it does not end with its writers.
    /// - Returns: why it cannot be opened; that there is none is no fault.
    mutating func open() -> FollowFault? {
        guard phase != .stopped, let now = FollowedFile.identity(of: path), now != identity else { return nil }
        let found = OwnedDescriptor(Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC))
        guard found.number >= 0 else { return errno == ENOENT ? nil : FollowFault("open", path) }
        var status = stat()
        guard fstat(found.number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
        (pipe, identity) = (found, now)
        return nil
    }
}
