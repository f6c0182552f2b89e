/// Bytes at a place that does not change while their owner lives, so that views of them can be handed around during a
/// call without copying.
final class FixedBytes {
    private let memory: UnsafeMutableRawBufferPointer
    private var count: Int

    init(capacity: Int) {
        memory = .allocate(byteCount: capacity, alignment: 8)
        count = 0
    }

    convenience init(_ bytes: [UInt8]) {
        self.init(capacity: bytes.count)
        set(bytes)
    }

    deinit {
        memory.deallocate()
    }

    var capacity: Int { memory.count }

    /// What was set last, valid until the next is set.
    var view: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[..<count])
    }

    /// Replaces the bytes; what does not fit is cut.
    func set(_ bytes: [UInt8]) {
        count = min(bytes.count, memory.count)
        bytes.withUnsafeBytes { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }

    /// Replaces the bytes by `count` ones that `body` writes.
    func fill(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        self.count = min(count, memory.count)
        body(memory)
    }
}
