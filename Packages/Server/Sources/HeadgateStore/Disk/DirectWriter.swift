import CDisk
import Glibc

/// Writes to a file past the page cache, which saves a lone event a third of its way to the disk: no page is copied to, looked for
/// and marked, and the sync that follows finds nothing to write.
///
/// It writes whole blocks. The one in which the last write ended is kept, since the next begins in it.
final class DirectWriter {
    private let descriptor: Int32
    /// Where blocks are put together; at its beginning the one in which the last write ended.
    private let room = UnsafeMutableRawBufferPointer.allocate(
        byteCount: DirectWriter.most + 2 * DirectWriter.block, alignment: DirectWriter.block)
    /// Where the last write ended, unless something else has been written since.
    private var tail: Int?
    /// Bytes that the file has at least.
    private var fileSize = 0

    private static let block = 4 << 10
    /// More is left to the page cache. A write by way of that has to read the block first in which one past it has ended, so it should
    /// be rare.
    private static let most = 1 << 20

    /// Nil where the file system has no way past the page cache.
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

    /// Something else has been written to the file, or it has another size.
    func forget() {
        (tail, fileSize) = (nil, 0)
    }

    /// Writes bytes; what stands behind them in their last block is zeros afterwards.
    /// - Parameter file: the same file by way of the page cache.
    /// - Returns: false where they have to go by the page cache; nothing is written then.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ file: any DiskFile) throws(DiskFault) -> Bool {
        let start = offset / DirectWriter.block * DirectWriter.block
        let (lead, end) = (offset - start, offset + bytes.count)
        let size = (end - start + DirectWriter.block - 1) / DirectWriter.block * DirectWriter.block
        guard bytes.count <= DirectWriter.most, try hasRoom(through: start + size, file) else { return false }
        if lead > 0, tail != offset {
            guard try file.read(into: part(0..<lead), at: start) == lead else { return false }
        }
        // Behind the last write its block is zeros already.
        let isZeroed = lead > 0 && tail == offset && size == DirectWriter.block
        tail = nil
        part(lead..<lead + bytes.count).copyMemory(from: bytes)
        if !isZeroed { _ = part(lead + bytes.count..<size).initializeMemory(as: UInt8.self, repeating: 0) }
        guard try writeBlocks(size, at: start) else { return false }
        keepTail(of: size, end: end)
        return true
    }

    /// The same for a little that comes right behind the last write and ends within the block in which that did. By way of the page cache
    /// the block would have to be read for it, and written out before the next.
    func writeOn(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ file: any DiskFile) throws(DiskFault) -> Bool {
        guard tail == offset, offset % DirectWriter.block + bytes.count <= DirectWriter.block else { return false }
        return try write(bytes, at: offset, file)
    }

    /// Whether the file reaches so far: a write must not lengthen it.
    private func hasRoom(through end: Int, _ file: any DiskFile) throws(DiskFault) -> Bool {
        if fileSize < end { fileSize = try file.size() }
        return fileSize >= end
    }

    /// - Returns: false where the file system refuses to write past the page cache after all.
    private func writeBlocks(_ size: Int, at offset: Int) throws(DiskFault) -> Bool {
        var done = 0
        while done < size {
            let count = pwrite(descriptor, room.baseAddress! + done, size - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EINVAL, done == 0 { return false }
            guard count >= 0 else { throw .last }
            // What is left is no whole block.
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
