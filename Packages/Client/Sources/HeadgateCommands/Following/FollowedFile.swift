import CPipe
import Glibc

/// An open file that others write to. It stays the same when it is renamed.
final class FollowedFile {
    let identity: FollowedPlace.File
    private let descriptor: Int32
    private let path: String
    /// The file's first page. Nil while it is not held.
    private var page: UnsafeMutableRawPointer?

    /// Opens a file; nil when there is none. One that must not be read yet may be readable soon.
    init?(_ path: String) throws(FollowFault) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FollowFault("open", path, passing: FollowFault.shortages.union([EACCES]))
        }
        var status = stat()
        fstat(descriptor, &status)
        (self.descriptor, self.path, identity) = (descriptor, path, FollowedPlace.File(status))
        // Only what can be read again can be followed without loss.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FollowFault("\(path) is neither a file nor a named pipe")
        }
    }

    deinit {
        close(descriptor)
        if let page { cpipe_release_page(page) }
    }

    /// Notes how the file is now, so that ``wasEmptied`` tells of what happens from here on.
    func watchBeginning() {
        guard page == nil, hasLocalTimes, shape.size > 0 else { return }
        page = cpipe_hold_page(descriptor)
    }

    /// Returns true if the file was emptied since it was noted. It is known from the file's first page, which the kernel takes
    /// away at that moment, even if the same text was written at once. A file whose first byte is NUL proves nothing: somebody
    /// may have freed the room of its beginning.
    func wasEmptied() throws(FollowFault) -> Bool {
        guard let held = page, cpipe_is_page_gone(held) == 1 else { return false }
        cpipe_release_page(held)
        page = nil
        return try bytes(at: 0, upTo: 1) != [0]
    }

    /// Up to so many bytes from an offset on.
    func bytes(at offset: Int, upTo most: Int) throws(FollowFault) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            let size = pread(descriptor, buffer.baseAddress, most, offset)
            failure = size < 0 ? errno : 0
            count = max(0, size)
        }
        guard failure == 0 else { throw FollowFault("read", path, failure) }
        return bytes
    }

    /// The time at which the file was made, in nanoseconds since 1970; zero if it is not known.
    var birth: Int { Int(cpipe_birth(descriptor)) }

    /// True if a later time of the file means that it was written to.
    var hasLocalTimes: Bool { cpipe_has_local_times(descriptor) == 1 }

    /// A path by which the kernel finds this file, whatever its name is.
    var pathOfDescriptor: String { "/proc/self/fd/\(descriptor)" }

    /// The file's size and time now.
    var shape: FileShape {
        var status = stat()
        fstat(descriptor, &status)
        return FileShape(size: Int(status.st_size), modified: status.modified)
    }

    /// The same at a moment at which nobody is just writing: a write sets the time before it sets the size. The kernel lets
    /// neither of these calls happen in the middle of a write, depending on the file system.
    var shapeBetweenWrites: FileShape {
        var byte: UInt8 = 0
        cpipe_seek_hole(descriptor)
        pread(descriptor, &byte, 1, 0)
        return shape
    }

    /// The offset of the first data behind an offset: a file may have a hole there, which reads as NUL bytes. The same offset
    /// if that is not known.
    func nextData(from offset: Int) -> Int {
        max(offset, Int(cpipe_seek_data(descriptor, Int64(offset))))
    }

    /// Whether the file has only grown since a place was noted: it is as long, and what stands before is what stood there.
    func isStill(_ place: FollowedPlace) throws(FollowFault) -> Bool {
        guard !place.before.isEmpty else { return place.offset == 0 }
        return try bytes(at: place.offset - place.before.count, upTo: place.before.count) == place.before
    }

    /// Which file has a name now; nil when none has.
    static func identity(of path: String) -> FollowedPlace.File? {
        var status = stat()
        return stat(path, &status) == 0 ? FollowedPlace.File(status) : nil
    }
}

extension FollowedPlace.File {
    init(_ status: stat) {
        self.init(device: Int(status.st_dev), inode: Int(status.st_ino))
    }
}
