internal import Glibc

/// A framer that splits a stream of bytes into lines, the frames of the protocol.
///
/// LF ends a line, and a CR before it is dropped. Lines with only spaces and tabs are ignored. A line that is too long
/// is reported once, as soon as that is certain, and the rest of it is skipped without being kept.
///
/// A line within one chunk is returned in place; only an incomplete line at the end of a chunk is copied. The reader
/// pulls lines and may stop after any of them, for example when too many are unanswered or when the connection is
/// closed:
///
///     framer.lend(chunk)
///     while isReadyForMore, let line = framer.next() { handle(line) }
///     framer.keepRest()
///
/// When it is ready again, it continues with `next()` before it lends another chunk.
public struct LineFramer: ~Copyable {
    /// A result of `next`.
    public enum Line {
        /// A line without its line end. The bytes are valid until the framer is used again, or until the chunk is
        /// released.
        case text(UnsafeRawBufferPointer)
        /// A line longer than the limit. It is skipped up to its end.
        case tooLong
    }

    /// The most bytes of a line without its end, from now on (`limits.max_line_bytes`).
    public var maxLineBytes: Int
    private var kept = LineBuffer()
    /// The number of kept bytes that are known to have no LF, so that they are searched only once.
    private var searched = 0
    private var lent = UnsafeRawBufferPointer(start: nil, count: 0)
    private var skips = false
    private var isAtEnd = false

    /// Creates a framer for lines of at most `maxLineBytes` bytes without their ends (`limits.max_line_bytes`).
    public init(maxLineBytes: Int) {
        self.maxLineBytes = maxLineBytes
    }

    /// The number of bytes that `next` has not returned.
    public var waitingBytes: Int { kept.count + lent.count }

    /// The memory for kept bytes.
    var keptCapacity: Int { kept.capacity }

    /// Lends the bytes that were last read. They must stay in place until `keepRest`.
    public mutating func borrow(_ chunk: UnsafeRawBufferPointer) {
        keepRest()
        lent = chunk
    }

    /// Returns the next line, or nil if there is no complete one.
    public mutating func next() -> Line? {
        while let ended = takeThroughLineFeed() {
            if skips {
                skips = false
                continue
            }
            let line = ended.withoutCarriageReturn
            if line.count > maxLineBytes { return .tooLong }
            if !line.isBlank { return .text(line) }
        }
        return takeUnended()
    }

    /// Returns the bytes of the next line, which stays the next one. Returns nil if there is no complete line. The
    /// bytes are valid until the framer is used again.
    public mutating func peek() -> UnsafeRawBufferPointer? {
        while let (line, count) = completeLine() {
            if !skips, !line.isBlank { return line }
            skips = false
            if kept.count > 0 { _ = kept.take(count) } else { lent = UnsafeRawBufferPointer(rebasing: lent[count...]) }
            searched = 0
        }
        guard isAtEnd, !skips, waitingBytes > 0 else { return nil }
        keepRest()
        return kept.bytes.withoutCarriageReturn
    }

    /// Returns the first complete line without its end, and the number of its bytes with the end. A line that began in
    /// an earlier chunk is first combined in the kept bytes.
    private mutating func completeLine() -> (line: UnsafeRawBufferPointer, count: Int)? {
        if kept.count > 0, kept.bytes.lineFeed(from: searched) == nil {
            searched = kept.count
            guard let lineFeed = lent.lineFeed(from: 0) else { return nil }
            kept.append(UnsafeRawBufferPointer(rebasing: lent[...lineFeed]))
            lent = UnsafeRawBufferPointer(rebasing: lent[(lineFeed + 1)...])
        }
        let source = kept.count > 0 ? kept.bytes : lent
        guard let lineFeed = source.lineFeed(from: kept.count > 0 ? searched : 0) else { return nil }
        return (UnsafeRawBufferPointer(rebasing: source[..<lineFeed]).withoutCarriageReturn, lineFeed + 1)
    }

    /// Copies the bytes that `next` has not returned, so that the chunk's memory can be reused.
    public mutating func keepRest() {
        kept.append(lent)
        lent = UnsafeRawBufferPointer(start: nil, count: 0)
        kept.shrink()
    }

    /// Marks the end of the input. A last line without LF counts as a line, because people forget the LF when they type
    /// a message or pipe it from a file.
    public mutating func finish() {
        isAtEnd = true
    }

    /// Returns a line without its LF, from the kept bytes, from the chunk, or combined from both.
    private mutating func takeThroughLineFeed() -> UnsafeRawBufferPointer? {
        if let lineFeed = kept.bytes.lineFeed(from: searched) {
            searched = 0
            return UnsafeRawBufferPointer(rebasing: kept.take(lineFeed + 1).dropLast())
        }
        searched = kept.count
        guard let lineFeed = lent.lineFeed(from: 0) else { return nil }
        let head = UnsafeRawBufferPointer(rebasing: lent[..<lineFeed])
        lent = UnsafeRawBufferPointer(rebasing: lent[(lineFeed + 1)...])
        guard kept.count > 0 else { return head }
        kept.append(head)
        return takeAllKept()
    }

    /// Handles bytes without an LF: too many for a line, or the last line.
    private mutating func takeUnended() -> Line? {
        if skips || isTooLongUnended {
            defer { skips = true }
            dropAll()
            return skips ? nil : .tooLong
        }
        guard isAtEnd, waitingBytes > 0 else { return nil }
        keepRest()
        let line = takeAllKept().withoutCarriageReturn
        return line.isBlank ? nil : .text(line)
    }

    /// True if the unended line is too long. One byte above the limit is allowed if it may be the CR of the line's end.
    private var isTooLongUnended: Bool {
        guard waitingBytes > maxLineBytes else { return false }
        let last = lent.last ?? kept.bytes.last
        return waitingBytes > maxLineBytes + 1 || last != UInt8(ascii: "\r")
    }

    private mutating func takeAllKept() -> UnsafeRawBufferPointer {
        searched = 0
        return kept.take(kept.count)
    }

    private mutating func dropAll() {
        searched = 0
        kept.removeAll()
        lent = UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

/// The kept bytes of an incomplete line. Bytes taken from the front stay readable until more are appended.
private struct LineBuffer: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private(set) var capacity = 0
    private var start = 0
    private var end = 0

    private static let smallest = 1024
    /// The most memory that an idle connection keeps, in bytes.
    private static let keptWhenEmpty = 16 * 1024

    deinit {
        free(memory)
    }

    var count: Int { end - start }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory.map { UnsafeRawPointer($0) + start }, count: count)
    }

    /// Removes and returns bytes from the front.
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

    /// Frees the memory of an unusually long line when the buffer is empty.
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

    private mutating func move(toCapacity newCapacity: Int) {
        guard let larger = malloc(newCapacity) else { fatalError("no memory for a line of \(newCapacity) bytes") }
        if let memory { memcpy(larger, memory + start, count) }
        free(memory)
        (memory, capacity) = (larger, newCapacity)
        (start, end) = (0, count)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the index of the first LF from `start` on.
    fileprivate func lineFeed(from start: Int) -> Int? {
        guard let baseAddress, start < count else { return nil }
        guard let found = memchr(baseAddress + start, 0x0A, count - start) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    /// The line without the CR of a line end CR LF.
    fileprivate var withoutCarriageReturn: UnsafeRawBufferPointer {
        last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: dropLast()) : self
    }

    /// True if the line has only spaces and tabs.
    fileprivate var isBlank: Bool {
        allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
