import Glibc
import HeadgateEncryption
import HeadgateTransport

/// Moves the data of a named pipe to the end of a file, its spool, which can be read again.
///
/// Each byte is always in the pipe or in the spool. Neither a kill nor a full disk can lose a byte in between. The spool
/// has a thread of its own and moves in bulk, so that writers seldom wait.
final class PipeSpool: Sendable {
    let path: String
    /// True if offsets of the pipe's bytes are not offsets of the file.
    let isEncrypted: Bool
    private let source: Guarded<PipeSource>

    /// The length from which a spool is emptied.
    static let shortest = 8 << 20
    /// The length at which a spool takes no more data until it is emptied, so that the writers wait.
    /// - Parameter fileSize: the process's limit for the size of files. It leaves room for one more move and for the rest
    ///   of a line: a spool that ended with half a line could not be emptied.
    static func longest(fileSize: rlim_t) -> Int {
        max(1, Int(min(rlim_t(64 << 20), fileSize / 4)))
    }

    /// The process's limit for the size of files (`ulimit -f`).
    private static var fileSize: rlim_t {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 ? limit.rlim_cur : .max
    }

    /// Returns true if the path is a named pipe, or if it is missing and a pipe had one of these spools.
    static func isNeeded(for path: String, spools: [String]) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT && spools.contains { FollowedFile.identity(of: $0) != nil }
        }
        return status.st_mode & S_IFMT == S_IFIFO
    }

    /// Opens or creates the spool. The caller must own the state that the spool belongs to. The pipe is not read before
    /// ``read()``.
    /// - Parameter keyring: the keys of an encrypted spool.
    init(
        _ path: String, of pipe: String, longest: Int? = nil, keyring: Keyring? = nil, _ terminal: Terminal
    ) throws(FollowFault) {
        let longest = longest ?? PipeSpool.longest(fileSize: PipeSpool.fileSize)
        var first = PipeSource(path: pipe, spool: try SpoolNames.open(path, keyring, terminal), longest: longest)
        if let fault = first.open() { throw fault }
        (self.path, isEncrypted, source) = (path, keyring != nil, Guarded(first))
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

    /// Returns at most this many bytes of the spool, from an offset on.
    func bytes(at offset: Int, upTo most: Int) throws(FollowFault) -> [UInt8] {
        let read = source.withLock { source in
            Result { () throws(FollowFault) in try source.spool.bytes(at: offset, upTo: most) }
        }
        return try read.get()
    }

    /// Starts to read the pipe, unless that was done before.
    func read() {
        source.withLock { if $0.phase == .waiting { $0.phase = .reading } }
    }

    /// Stops reading. After a return nothing is taken from the pipe.
    func stop() {
        source.withLock { $0.phase = .stopped }
    }

    var isEmpty: Bool { source.withLock { $0.spool.length == 0 } }

    /// Syncs the spool. Before that, IDs of its lines must not be used: lines that a power failure loses would leave
    /// their offsets, and so their IDs, to other lines. A failed sync is not repeated, because the kernel may then
    /// report success for data that it has dropped.
    func sync() throws(FollowFault) {
        let isSynced = source.withLock { $0.spool.sync() }
        guard isSynced else { throw FollowFault("write", path, passing: []) }
    }

    /// Empties a long spool if all its lines are settled and it still has this length. Also a short one is emptied if it
    /// is not encrypted with the present key. It is empty on the disk before a position says so. After a kill in between,
    /// the spool is shorter than its position and is started again.
    /// - Returns: true if the spool was emptied.
    func empty(doneWith length: Int, shortest: Int = PipeSpool.shortest) throws(FollowFault) -> Bool {
        let code: Int32? = source.withLock { source in
            let isLong = source.spool.size >= min(shortest, source.longest)
            guard isLong || source.spool.isOutdated, source.spool.length == length else { return nil }
            return source.spool.empty() ? 0 : errno
        }
        guard let code else { return false }
        guard code == 0 else { throw FollowFault("empty", path, code, passing: []) }
        return true
    }

    // MARK: The thread

    /// Moves data until the spool is stopped. A failure is reported and repeated, because the data stays in the pipe.
    private static func move(_ source: Guarded<PipeSource>, _ terminal: Terminal) {
        var throttle = MessageThrottle()
        while true {
            source.wait { $0.phase == .stopped || $0.phase == .reading && $0.hasRoom }
            guard let pipe = source.withLock({ $0.phase == .stopped ? nil : $0.pipe?.number ?? -1 }) else { return }
            // `poll` ignores the negative descriptor of a missing pipe.
            var state = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            let isReadable = poll(&state, 1, interval) > 0
            let fault = source.withLock { isReadable ? $0.move() : $0.open() }?.description
            if let fault {
                if throttle.isNews(fault) { terminal.printError(fault) }
                poll(nil, 0, interval)
            }
        }
    }

    /// The time between two checks for another pipe or for free disk space, in milliseconds.
    private static let interval: Int32 = 200
}

/// The pipe and its spool, which the thread and the follower share.
private struct PipeSource: Sendable {
    /// The phase of the thread's life. A request to read in another phase than `waiting` changes nothing.
    enum Phase {
        /// The follower has not asked for data yet. Next: `reading` or `stopped`.
        case waiting
        /// The thread moves data from the pipe to the spool. Next: `stopped`.
        case reading
        /// The thread ends and opens no pipe. This is the last phase.
        case stopped
    }

    let path: String
    var spool: any SpoolFile
    let longest: Int
    /// The open pipe, or nil while there is none.
    private(set) var pipe: OwnedDescriptor?
    private var identity: FollowerPosition.File?
    var phase = Phase.waiting

    init(path: String, spool: any SpoolFile, longest: Int) {
        (self.path, self.spool, self.longest) = (path, spool, longest)
    }

    /// A full spool takes only the rest of a line, because only complete lines are settled.
    private var isFull: Bool { spool.size >= longest }

    /// True if data may be moved now.
    var hasRoom: Bool { !isFull || spool.lastByte != UInt8(ascii: "\n") }

    /// The most bytes to move at once: more than a pipe usually holds, so that a single write is moved in one piece.
    private static let mostOfPipe = 1 << 20

    /// Moves the available data.
    /// - Returns: the fault, or nil.
    mutating func move() -> FollowFault? {
        guard phase == .reading, let pipe else { return nil }
        return spool.take(min(Self.mostOfPipe, longest), isRest: isFull, from: pipe.number)
    }

    /// Opens the pipe that has the name now. It is opened for reading and writing, so that it does not end with its
    /// writers.
    /// - Returns: the fault, or nil. A missing pipe is no fault.
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
