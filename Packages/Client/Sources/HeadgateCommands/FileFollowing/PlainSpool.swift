import CPipe
import Glibc
import HeadgateTransport

/// A spool with the bytes of the pipe as they are.
///
/// The kernel moves the bytes, so that each byte is always in the pipe or in the spool.
struct PlainSpool: SpoolFile {
    private let path: String
    private let file: OwnedDescriptor

    /// Opens or creates the spool.
    init(_ path: String) throws(FollowFault) {
        (self.path, file) = (path, OwnedDescriptor(OwnFile.open(path)))
        guard file.number >= 0 else { throw FollowFault("open", path) }
    }

    var length: Int { Int(lseek(file.number, 0, SEEK_END)) }

    var size: Int { length }

    var lastByte: UInt8? {
        var last: UInt8 = 0
        return pread(file.number, &last, 1, length - 1) == 1 ? last : nil
    }

    var isOutdated: Bool { false }

    func bytes(at offset: Int, upTo most: Int) throws(FollowFault) -> [UInt8] {
        try file.bytes(at: offset, upTo: most, of: path)
    }

    func take(_ most: Int, isRest: Bool, from pipe: Int32) -> FollowFault? {
        // Byte after byte, the move ends with the line.
        let isMoved = cpipe_move(pipe, file.number, Int64(length), isRest ? 1 : most) >= 0
        return isMoved || errno == EAGAIN || errno == EINTR ? nil : FollowFault("write", path)
    }

    func sync() -> Bool { fdatasync(file.number) == 0 }

    func empty() -> Bool { ftruncate(file.number, 0) == 0 && fsync(file.number) == 0 }
}
