import Glibc
import HeadgateData
import HeadgateEncryption
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
    private let keyring: Keyring?
    /// True if the stored position is not protected as the keys say now.
    private(set) var isOutdated = false
    /// The open file of the path. The process that has locked it owns the state.
    private var held: OwnedDescriptor?

    /// - Parameter keyring: the keys with which the position is encrypted.
    init(path: String, keyring: Keyring? = nil) {
        (self.path, self.keyring) = (path, keyring)
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
        let stored = try held.bytes(at: 0, upTo: Self.longest, of: path)
        guard !stored.isEmpty else { return nil }
        let text = try decrypt(stored)
        guard case .object(let kept)? = try? DataItem(parsing: text), let index = Position(kept) else {
            throw FollowFault("\(path) holds no position of this kind; delete it to start without a position")
        }
        return index
    }

    private func decrypt(_ stored: [UInt8]) throws(FollowFault) -> [UInt8] {
        if let fault = SealedFile.missingKey(stored, at: path, under: keyring, source: FollowKeys.option) {
            throw FollowFault(fault)
        }
        guard let text = SealedFile.content(stored, of: name, under: keyring) else {
            throw FollowFault("\(path) is damaged; delete it to start without a position")
        }
        isOutdated = keyring.map { !SealedFile.isCurrent(stored, under: $0) } ?? false
        return text
    }

    /// The name to which an encrypted position is bound.
    private var name: String { path.split(separator: "/").last.map(String.init) ?? path }

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
        let plain = Array((DataItem.object(index.kept).json + "\n").utf8)
        let text = SealedFile.bytes(plain, as: self.name, under: keyring)
        var written = 0
        while written < text.count {
            let count = write(new.number, Array(text[written...]), text.count - written)
            guard count >= 0 else { throw FollowFault("write", name) }
            written += count
        }
        guard fsync(new.number) == 0, rename(name, path) == 0 else { throw FollowFault("write", name) }
        (held, isOutdated) = (new, false)
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

    /// Returns at most this many bytes of the file from an offset on.
    /// - Parameter path: the path of the file, for the fault.
    func bytes(at offset: Int, upTo most: Int, of path: String) throws(FollowFault) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            count = pread(number, buffer.baseAddress, most, off_t(offset))
            if count < 0 { (failure, count) = (errno, 0) }
        }
        guard failure == 0 else { throw FollowFault("read", path, failure) }
        return bytes
    }

    /// Opens a pipe, whose ends no other program gets.
    static func pipe() throws(FollowFault) -> (reading: OwnedDescriptor, writing: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw FollowFault("open", "a pipe") }
        // No other program has been started yet that could inherit them.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (OwnedDescriptor(ends[0]), OwnedDescriptor(ends[1]))
    }
}
