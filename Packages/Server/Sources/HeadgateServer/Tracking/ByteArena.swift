/// Memory for bytes that are created while events are read. The bytes do not move until ``clear()`` frees them all. The
/// arena keeps its first block, so that a usual event allocates nothing.
final class ByteArena {
    /// The block that ``clear()`` keeps.
    private let first = UnsafeMutableRawBufferPointer.allocate(byteCount: ByteArena.blockSize, alignment: 8)
    @exclusivity(unchecked) private var others: [UnsafeMutableRawBufferPointer] = []
    /// The block that is being filled. ``used`` counts its taken bytes.
    @exclusivity(unchecked) private var last: UnsafeMutableRawBufferPointer
    @exclusivity(unchecked) private var used = 0

    private static let blockSize = 16 * 1024

    init() {
        last = first
    }

    deinit {
        clear()
        first.deallocate()
    }

    /// Returns uninitialized memory for this many bytes.
    @inline(__always)
    func room(for count: Int) -> UnsafeMutableRawBufferPointer {
        if last.count - used < count { addBlock(for: count) }
        let start = used
        used = start + count
        return UnsafeMutableRawBufferPointer(rebasing: last[start..<start + count])
    }

    private func addBlock(for count: Int) {
        last = .allocate(byteCount: max(count, ByteArena.blockSize), alignment: 8)
        others.append(last)
        used = 0
    }

    /// Copies bytes into the arena.
    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let target = room(for: bytes.count)
        target.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(target)
    }

    /// Frees everything that was allocated since the last call.
    func clear() {
        used = 0
        guard !others.isEmpty else { return }
        for block in others { block.deallocate() }
        others.removeAll()
        last = first
    }
}
