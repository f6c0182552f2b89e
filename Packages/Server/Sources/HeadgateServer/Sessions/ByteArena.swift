/// Bytes that are made for events while these are taken in, at places that do not change until all are let go of at
/// once. One block is kept for the events to come, so that taking in a usual event allocates nothing.
final class ByteArena {
    private var blocks: [UnsafeMutableRawBufferPointer]
    /// How much of the last block is taken.
    private var used = 0

    private static let blockSize = 16 * 1024

    init() {
        blocks = [.allocate(byteCount: ByteArena.blockSize, alignment: 8)]
    }

    deinit {
        for block in blocks { block.deallocate() }
    }

    /// Room for so many bytes, which are not set yet.
    func room(for count: Int) -> UnsafeMutableRawBufferPointer {
        var last = blocks[blocks.count - 1]
        if last.count - used < count {
            last = .allocate(byteCount: max(count, ByteArena.blockSize), alignment: 8)
            blocks.append(last)
            used = 0
        }
        defer { used += count }
        return UnsafeMutableRawBufferPointer(rebasing: last[used..<used + count])
    }

    /// Copies bytes.
    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let place = room(for: bytes.count)
        place.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(place)
    }

    /// Lets go of all that was taken.
    func clear() {
        for block in blocks.dropFirst() { block.deallocate() }
        blocks.removeSubrange(1...)
        used = 0
    }
}
