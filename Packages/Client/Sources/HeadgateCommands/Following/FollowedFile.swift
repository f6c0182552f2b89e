import Glibc
import HeadgateData
import HeadgateWire

/// Why a file cannot be followed.
struct FollowFault: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ path: String, _ code: Int32 = errno) {
        description = "cannot \(what) \(path): \(String(cString: strerror(code)))"
    }

    init(_ description: String) {
        self.description = description
    }
}

/// An open file that others write to. It stays the same when it is renamed.
final class FollowedFile {
    let identity: FollowedPlace.File
    private let descriptor: Int32
    private let path: String

    /// Opens a file; nil when there is none.
    init?(_ path: String) throws(FollowFault) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FollowFault("open", path)
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
}

extension FollowedFile {
    /// Which file has a name now; nil when none has.
    static func identity(of path: String) -> FollowedPlace.File? {
        var status = stat()
        return stat(path, &status) == 0 ? FollowedPlace.File(status) : nil
    }

    /// The file in the folder of `path` that has been there under another name: it was renamed to `path` and something.
    static func renamed(_ file: FollowedPlace.File, from path: String) throws(FollowFault) -> FollowedFile? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let name = String(parts.last ?? "")
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") + "/" : "./"
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let other = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard other.hasPrefix(name), identity(of: folder + other) == file else { continue }
            return try FollowedFile(folder + other)
        }
        return nil
    }
}

extension FollowedPlace.File {
    fileprivate init(_ status: stat) {
        self.init(device: Int(status.st_dev), inode: Int(status.st_ino))
    }
}

/// Where a place is kept: it is replaced as a whole, and on the disk when `save` returns.
struct FollowState {
    let path: String

    /// What was kept; nil when nothing was.
    func load() throws(FollowFault) -> FollowedPlace? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FollowFault("open", path)
        }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.longest) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        guard case .object(let kept)? = try? DataItem(parsing: bytes), let place = FollowedPlace(kept) else {
            throw FollowFault("\(path) does not tell how far a file was followed; delete it to begin anew")
        }
        return place
    }

    func save(_ place: FollowedPlace) throws(FollowFault) {
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FollowFault("write", new) }
        defer { close(descriptor) }
        let text = Array((DataItem.object(place.kept).json + "\n").utf8)
        guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0, rename(new, path) == 0 else {
            throw FollowFault("write", new)
        }
        try syncFolder()
    }

    /// Else the old name could be back after a power failure, and with it an older place: no harm, but for a first one.
    private func syncFolder() throws(FollowFault) {
        let end = path.lastIndex(of: "/")
        let folder = open(end.map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if folder >= 0 { close(folder) } }
        guard folder >= 0, fsync(folder) == 0 else { throw FollowFault("write", path) }
    }

    private static let longest = 4096
}
