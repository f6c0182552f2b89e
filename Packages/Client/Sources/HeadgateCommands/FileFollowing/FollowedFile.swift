import CPipe
import Glibc

/// An open file that other programs write. It remains the same file when it is renamed.
final class FollowedFile {
    let identity: FollowerPosition.File
    private let file: OwnedDescriptor
    private var descriptor: Int32 { file.number }
    private let path: String
    /// The spool that this file is; nil for any other file.
    private let spool: PipeSpool?
    /// The first page of the file, or nil while it is not held.
    private var page: UnsafeMutableRawPointer?

    /// Opens a file. Returns nil if there is none. If the file may not be read, the thrown fault is a passing one,
    /// because the permissions may change soon.
    init?(_ path: String, of spool: PipeSpool? = nil) throws(FollowFault) {
        let file = OwnedDescriptor(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        guard file.number >= 0 else {
            if errno == ENOENT { return nil }
            throw FollowFault("open", path, passing: FollowFault.shortages.union([EACCES]))
        }
        var status = stat()
        fstat(file.number, &status)
        (self.file, self.path, self.spool) = (file, path, spool)
        identity = FollowerPosition.File(status)
        // Only a file that can be read again can be followed without loss.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FollowFault("\(path) is neither a file nor a named pipe")
        }
    }

    deinit {
        if let page { cpipe_release_page(page) }
    }

    /// Holds the first page, so that ``wasEmptied()`` notices a truncation from now on.
    func watchBeginning() {
        guard page == nil, hasLocalTimes, shape.size > 0 else { return }
        page = cpipe_hold_page(descriptor)
    }

    /// Returns true if the file was truncated since ``watchBeginning()``. The kernel drops the file's first page at
    /// that moment, even if the same text is written at once. If the first byte is NUL, nothing is certain, because the
    /// space of the beginning may have been freed.
    func wasEmptied() throws(FollowFault) -> Bool {
        guard let held = page, cpipe_is_page_gone(held) == 1 else { return false }
        cpipe_release_page(held)
        page = nil
        return try bytes(at: 0, upTo: 1) != [0]
    }

    /// Returns at most this many bytes from an offset on.
    func bytes(at offset: Int, upTo most: Int) throws(FollowFault) -> [UInt8] {
        if let spool { return try spool.bytes(at: offset, upTo: most) }
        return try file.bytes(at: offset, upTo: most, of: path)
    }

    /// The creation time of the file, in nanoseconds since 1970, or 0 if it is not known.
    var birth: Int { Int(cpipe_birth(descriptor)) }

    /// True if the file is encrypted by this program. Then its size and its times say nothing of its lines.
    var isEncrypted: Bool { spool?.isEncrypted == true }

    /// True if a later modification time means that the file was written to.
    var hasLocalTimes: Bool { cpipe_has_local_times(descriptor) == 1 }

    /// A path that leads to this file, whatever its name is.
    var pathOfDescriptor: String { "/proc/self/fd/\(descriptor)" }

    /// The present size and modification time of the file.
    var shape: FileMetadata {
        var status = stat()
        fstat(descriptor, &status)
        return FileMetadata(size: Int(status.st_size), modified: status.modified)
    }

    /// The shape at a moment without a write. A write sets the time before the size. Depending on the file system, one
    /// of the two calls waits for a write to finish.
    var shapeBetweenWrites: FileMetadata {
        var byte: UInt8 = 0
        cpipe_seek_hole(descriptor)
        pread(descriptor, &byte, 1, 0)
        return shape
    }

    /// Returns the offset of the first data at or after an offset, past a hole, which would read as NUL bytes. Returns
    /// the same offset if that is not known.
    func nextData(from offset: Int) -> Int {
        isEncrypted ? offset : max(offset, Int(cpipe_seek_data(descriptor, Int64(offset))))
    }

    /// Returns true if the file has only grown since a position was stored: the bytes before the position are the same.
    func isStill(_ position: FollowerPosition) throws(FollowFault) -> Bool {
        guard !position.before.isEmpty else { return position.offset == 0 }
        return try bytes(at: position.offset - position.before.count, upTo: position.before.count) == position.before
    }

    /// Returns the file that has a name now, or nil if there is none.
    static func identity(of path: String) -> FollowerPosition.File? {
        var status = stat()
        return stat(path, &status) == 0 ? FollowerPosition.File(status) : nil
    }

    /// Returns the time of the last write to the file that has a name now, in nanoseconds since 1970, or nil if there is
    /// none.
    static func modified(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? status.modified : nil
    }
}

extension FollowerPosition.File {
    init(_ status: stat) {
        self.init(device: Int(status.st_dev), inode: Int(status.st_ino))
    }
}
