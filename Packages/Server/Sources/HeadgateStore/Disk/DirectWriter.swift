import CDisk
import Glibc

/// Writes to a file without the page cache, which saves a third of a lone event's time to the disk: no page is copied,
/// looked up and marked, and the sync that follows finds nothing to write.
///
/// It writes whole blocks, and keeps the block in which the last write ended, because the next write begins in it.
final class DirectWriter {
    private let descriptor: Int32
    /// The buffer of blocks. It begins with the block in which the last write ended.
    private let room = UnsafeMutableRawBufferPointer.allocate(
        byteCount: DirectWriter.most + 2 * DirectWriter.block, alignment: DirectWriter.block)
    /// The end of the last write; nil if other writes followed.
    private var tail: Int?
    /// A lower bound of the file's size.
    private var fileSize = 0

    private static let block = 4 << 10
    /// The most bytes of a write. Larger writes use the page cache. They should be rare, because the page cache must
    /// first read the block in which the last direct write ended.
    private static let most = 1 << 20

    /// Returns nil if the file system has no direct writes.
    init?(_ file: Int32) {
        descriptor = cdisk_reopen_direct(file)
        guard descriptor >= 0 else {
            room.deallocate()
            return nil
        }
    }

    deinit {
        close(descriptor)
        room.deallocate()
    }

    /// Forgets the end of the last write, after other writes or a change of the size.
    func forget() {
        (tail, fileSize) = (nil, 0)
    }

    /// Writes bytes. The rest of their last block is zeros afterwards.
    /// - Parameter file: the same file through the page cache.
    /// - Returns: false if the bytes must go through the page cache. Then nothing is written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ file: any DiskFile) throws(DiskFault) -> Bool {
        let start = offset / DirectWriter.block * DirectWriter.block
        let (lead, end) = (offset - start, offset + bytes.count)
        let size = (end - start + DirectWriter.block - 1) / DirectWriter.block * DirectWriter.block
        guard bytes.count <= DirectWriter.most, try hasRoom(through: start + size, file) else { return false }
        if lead > 0, tail != offset {
            guard try file.read(into: part(0..<lead), at: start) == lead else { return false }
        }
        // The last write has filled its block with zeros.
        let isZeroed = lead > 0 && tail == offset && size == DirectWriter.block
        tail = nil
        part(lead..<lead + bytes.count).copyMemory(from: bytes)
        if !isZeroed { _ = part(lead + bytes.count..<size).initializeMemory(as: UInt8.self, repeating: 0) }
        guard try writeBlocks(size, at: start) else { return false }
        keepTail(of: size, end: end)
        return true
    }

    /// Writes a few bytes after the last write, within its last block. The page cache would have to read that block,
    /// and to write it before the next direct write.
    func writeOn(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ file: any DiskFile) throws(DiskFault) -> Bool {
        guard tail == offset, offset % DirectWriter.block + bytes.count <= DirectWriter.block else { return false }
        return try write(bytes, at: offset, file)
    }

    /// Returns true if the file extends at least to `end`: a direct write must not lengthen it.
    private func hasRoom(through end: Int, _ file: any DiskFile) throws(DiskFault) -> Bool {
        if fileSize < end { fileSize = try file.size() }
        return fileSize >= end
    }

    /// - Returns: false if the file system refuses the direct write.
    private func writeBlocks(_ size: Int, at offset: Int) throws(DiskFault) -> Bool {
        var done = 0
        while done < size {
            let count = pwrite(descriptor, room.baseAddress! + done, size - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EINVAL, done == 0 { return false }
            guard count >= 0 else { throw .last }
            // The rest is not a whole block.
            guard count > 0, count % DirectWriter.block == 0 || done + count == size else { throw DiskFault(code: EIO) }
            done += count
        }
        return true
    }

    private func keepTail(of size: Int, end: Int) {
        if size > DirectWriter.block {
            part(0..<DirectWriter.block).copyMemory(
                from: UnsafeRawBufferPointer(part(size - DirectWriter.block..<size)))
        }
        tail = end
    }

    private func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: room[range])
    }
}
