/// The read buffer that all connections of a loop share, so that idle connections hold no buffer.
final class ReadBuffer {
    /// The most bytes that one read receives.
    static let size = 256 * 1024
    /// The number of readable zero bytes after the input. Fast parsers read ahead.
    static let padding = 64

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size + padding, alignment: 64)

    deinit {
        memory.deallocate()
    }

    /// The memory to read into.
    var room: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.size])
    }

    /// Returns the first `count` bytes. The padding after them is zeroed.
    func filled(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + Self.padding])
            .initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeRawBufferPointer(rebasing: memory[..<count])
    }
}

/// A buffer of output bytes, which are appended at the end and sent from the front.
struct OutputBuffer {
    /// All bytes, of which the first `sent` have been sent. Callers may only append.
    var bytes: [UInt8] = []
    private var sent = 0

    /// The number of unsent bytes.
    var count: Int {
        bytes.count - sent
    }

    var isEmpty: Bool {
        count == 0
    }

    /// Calls `body` with the first unsent bytes, at most `limit`.
    func withUnsent<Result>(atMost limit: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { all in
            body(UnsafeRawBufferPointer(rebasing: all[sent..<min(all.count, sent + limit)]))
        }
    }

    /// Records that `count` more bytes were sent.
    mutating func advance(by count: Int) {
        sent += count
        // Bytes are moved only when most are sent, so that the cost per byte is constant.
        guard sent >= Self.worthMoving, sent > bytes.count / 2 else { return }
        bytes.removeSubrange(..<sent)
        sent = 0
    }

    /// Empties the buffer, and returns its array for reuse.
    mutating func release() -> [UInt8] {
        var released: [UInt8] = []
        swap(&released, &bytes)
        sent = 0
        return released
    }

    private static let worthMoving = 256 * 1024
}

/// A pool of output buffers. Connections without output hold no buffer, and those with output need not allocate one.
final class SpareBuffers {
    /// Exempt from run-time exclusivity checks, like all members that a connection uses each turn.
    @exclusivity(unchecked) private var buffers: [[UInt8]] = []

    /// Returns an empty buffer, with reserved capacity if the pool has one.
    func take() -> [UInt8] {
        buffers.popLast() ?? []
    }

    /// Gives a buffer back to the pool, unless its capacity is too large.
    func give(_ buffer: consuming [UInt8]) {
        guard buffers.count < Self.mostBuffers, buffer.capacity <= Self.mostRoom else { return }
        buffer.removeAll(keepingCapacity: true)
        buffers.append(buffer)
    }

    private static let mostBuffers = 16
    private static let mostRoom = 1 << 20
}
