import Glibc
import HeadgateData
import HeadgateTransport

/// A position that is stored as an object.
protocol StoredPosition {
    /// Reads a stored position. Returns nil if the object is not a position.
    init?(_ kept: DataObject)
    var kept: DataObject { get }
}

/// The file that stores a position. It is replaced as a whole, and is on the disk when `save` returns. One process uses
/// it at a time.
final class FollowState<Position: StoredPosition> {
    let path: String
    /// The open file of the path. The process that has locked it owns the state.
    private var held: OwnedDescriptor?

    init(path: String) {
        self.path = path
    }

    deinit {
        // The file is unlocked first: a program that another thread is starting may hold a copy of the descriptor, and
        // with it the lock.
        if let held { flock(held.number, LOCK_UN) }
    }

    /// Locks the file, unless that was done, and reads it.
    /// - Returns: the stored position, or nil if there is none.
    func load() throws(FollowFault) -> Position? {
        let held = if let held { held } else { try take() }
        self.held = held
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.longest) { buffer, count in
            length = pread(held.number, buffer.baseAddress, buffer.count, 0)
            count = max(0, length)
        }
        guard length >= 0 else { throw FollowFault("read", path) }
        guard length > 0 else { return nil }
        guard case .object(let kept)? = try? DataItem(parsing: bytes), let index = Position(kept) else {
            throw FollowFault("\(path) holds no position of this kind; delete it to start without a position")
        }
        return index
    }

    private func take() throws(FollowFault) -> OwnedDescriptor {
        let found = OwnedDescriptor(OwnFile.open(path))
        guard found.number >= 0 else { throw FollowFault("open", path) }
        try lock(found)
        // A process that replaced the file before it was locked here has locked the new file.
        guard FollowedFile.identity(of: path) == found.identity else { throw inUse }
        return found
    }

    private func lock(_ file: OwnedDescriptor) throws(FollowFault) {
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK ? inUse : FollowFault("lock", path)
        }
    }

    private var inUse: FollowFault {
        FollowFault("another process uses \(path): give each follower its own --state")
    }

    /// Stores a position. The new file is locked before it gets the name.
    func save(_ index: Position) throws(FollowFault) {
        let name = path + ".new"
        let new = OwnedDescriptor(OwnFile.create(name))
        guard new.number >= 0 else { throw FollowFault("write", name) }
        try lock(new)
        let text = Array((DataItem.object(index.kept).json + "\n").utf8)
        var written = 0
        while written < text.count {
            let count = write(new.number, Array(text[written...]), text.count - written)
            guard count >= 0 else { throw FollowFault("write", name) }
            written += count
        }
        guard fsync(new.number) == 0, rename(name, path) == 0 else { throw FollowFault("write", name) }
        held = new
        try syncFolder()
    }

    /// Syncs the folder. Otherwise the old file could return after a power failure, with an older position. That does
    /// harm only if there was no position before.
    private func syncFolder() throws(FollowFault) {
        let end = path.lastIndex(of: "/")
        let folder = OwnedDescriptor(open(end.map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard folder.number >= 0, fsync(folder.number) == 0 else { throw FollowFault("write", path) }
    }

    /// The most bytes of a stored position, which may list many settled ranges.
    private static var longest: Int { 256 << 10 }
}

/// A descriptor that is closed with its last reference.
final class OwnedDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        if number >= 0 { close(number) }
    }

    var identity: FollowerPosition.File? {
        var status = stat()
        return fstat(number, &status) == 0 ? FollowerPosition.File(status) : nil
    }
}
