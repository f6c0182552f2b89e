internal import Glibc

/// Bytes that wait for the rest of their line. What is taken from the front stays readable until something is appended.
struct LineBuffer: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private(set) var capacity = 0
    private var start = 0
    private var end = 0

    private static let smallest = 1024
    /// An idle connection keeps no more memory than this.
    private static let keptWhenEmpty = 16 * 1024

    deinit {
        free(memory)
    }

    var count: Int { end - start }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory.map { UnsafeRawPointer($0) + start }, count: count)
    }

    /// Removes bytes from the front and gives them back.
    mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
        let taken = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        start += count
        return taken
    }

    mutating func removeAll() {
        start = end
    }

    mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress, source.count > 0 else { return }
        makeRoom(for: source.count)
        guard let memory else { return }
        memcpy(memory + end, from, source.count)
        end += source.count
    }

    /// Gives back the memory of an uncommonly long line when nothing is left in it.
    mutating func shrink() {
        guard count == 0, capacity > LineBuffer.keptWhenEmpty else { return }
        free(memory)
        memory = nil
        (capacity, start, end) = (0, 0, 0)
    }

    private mutating func makeRoom(for more: Int) {
        guard end + more > capacity else { return }
        if count + more > capacity { return move(toCapacity: max(capacity * 2, count + more, LineBuffer.smallest)) }
        if let memory { memmove(memory, memory + start, count) }
        (start, end) = (0, count)
    }

    private mutating func move(toCapacity wanted: Int) {
        guard let larger = malloc(wanted) else { fatalError("no memory for a line of \(wanted) bytes") }
        if let memory { memcpy(larger, memory + start, count) }
        free(memory)
        (memory, capacity) = (larger, wanted)
        (start, end) = (0, count)
    }
}
