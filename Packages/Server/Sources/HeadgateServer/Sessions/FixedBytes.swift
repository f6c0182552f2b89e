/// Bytes at a place that does not change while their owner lives, so that views of them can be handed around during a
/// call without copying.
final class FixedBytes {
    private let memory: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
        memory = .allocate(byteCount: bytes.count, alignment: 8)
        memory.copyBytes(from: bytes)
    }

    deinit {
        memory.deallocate()
    }

    var view: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(memory)
    }
}
