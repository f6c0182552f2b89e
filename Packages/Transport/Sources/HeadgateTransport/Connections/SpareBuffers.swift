/// Output buffers between two uses: connections that have nothing to write hold none, and those that write do not
/// allocate.
final class SpareBuffers {
    private var buffers: [[UInt8]] = []

    /// An empty buffer, with room if there is one to spare.
    func take() -> [UInt8] {
        buffers.popLast() ?? []
    }

    /// Keeps the room of a buffer that is no longer needed, unless it is too much.
    func give(_ buffer: consuming [UInt8]) {
        guard buffers.count < Self.mostBuffers, buffer.capacity <= Self.mostRoom else { return }
        buffer.removeAll(keepingCapacity: true)
        buffers.append(buffer)
    }

    private static let mostBuffers = 16
    private static let mostRoom = 1 << 20
}
