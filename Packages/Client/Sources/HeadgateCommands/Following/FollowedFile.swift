import Glibc

/// An open file that others write to. It stays the same when it is renamed.
final class FollowedFile {
    let identity: FollowedPlace.File
    private let descriptor: Int32
    private let path: String

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

    /// Whether the file has only grown since a place was noted: it is as long, and what stands before is what stood there.
    func isStill(_ place: FollowedPlace) throws(FollowFault) -> Bool {
        guard !place.before.isEmpty else { return place.offset == 0 }
        return try bytes(at: place.offset - place.before.count, upTo: place.before.count) == place.before
    }

    /// When it was written to last, in nanoseconds since 1970.
    var modified: Int {
        var status = stat()
        fstat(descriptor, &status)
        return status.modified
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
