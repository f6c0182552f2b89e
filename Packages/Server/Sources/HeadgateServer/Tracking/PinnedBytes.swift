/// Bytes whose address does not change while this object lives, so that views of them need no copy.
final class PinnedBytes {
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
