/// The buffer into which all connections of one loop read, one after the other, so that an idle one holds none.
final class ReadBuffer {
    /// The most that one read takes in.
    static let size = 256 * 1024
    /// Readable bytes behind what was read, all zero: fast parsers look ahead.
    static let padding = 64

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size + padding, alignment: 64)

    deinit {
        memory.deallocate()
    }

    /// Where to read to.
    var room: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.size])
    }

    /// The first `count` bytes, with the padding behind them zeroed.
    func filled(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + Self.padding])
            .initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeRawBufferPointer(rebasing: memory[..<count])
    }
}

/// Bytes on their way out: appended behind, sent from the front.
struct OutputBuffer {
    /// All bytes, of which the first `sent` are gone. Others may append, nothing else.
    var bytes: [UInt8] = []
    private var sent = 0

    /// How many are unsent.
    var count: Int {
        bytes.count - sent
    }

    var isEmpty: Bool {
        count == 0
    }

    /// Shows the first unsent bytes, at most so many.
    func withUnsent<Result>(atMost limit: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { all in
            body(UnsafeRawBufferPointer(rebasing: all[sent..<min(all.count, sent + limit)]))
        }
    }

    /// Takes note that `count` more bytes were sent.
    mutating func advance(by count: Int) {
        sent += count
        // Moving only when most is sent keeps the cost of a byte constant.
        guard sent >= Self.worthMoving, sent > bytes.count / 2 else { return }
        bytes.removeSubrange(..<sent)
        sent = 0
    }

    /// Forgets all, and gives the memory away.
    mutating func release() -> [UInt8] {
        var released: [UInt8] = []
        swap(&released, &bytes)
        sent = 0
        return released
    }

    private static let worthMoving = 256 * 1024
}

/// The output buffers between two uses: connections that have nothing to write hold none, and those that write do not
/// allocate.
final class SpareBuffers {
    /// Not checked for exclusive access, as all that a connection touches each turn.
    @exclusivity(unchecked) private var buffers: [[UInt8]] = []

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
