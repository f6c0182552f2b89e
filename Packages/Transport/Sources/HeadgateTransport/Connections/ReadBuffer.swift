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
