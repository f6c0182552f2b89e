internal import Glibc

/// Cuts a stream of bytes into lines, as the protocol frames its messages.
///
/// LF ends a line and a CR before it is dropped. Lines with nothing but spaces and tabs are ignored. A line that is too
/// long is reported once, as soon as that is certain, and the rest of it is skipped without being kept.
///
/// A line that lies in one chunk is handed out where it lies; only what is left of a chunk is copied. The reader is the
/// one who pulls, so it may stop after any line, when too much is unanswered say, or when the connection is closed:
///
///     framer.lend(chunk)
///     while isReadyForMore, let line = framer.next() { handle(line) }
///     framer.keepRest()
///
/// and, once it is ready again, goes on with `next()` before it lends another chunk.
public struct LineFramer: ~Copyable {
    /// What `next` found.
    public enum Line {
        /// A line without its end. The bytes are valid until the framer is used again, or its chunk goes.
        case text(UnsafeRawBufferPointer)
        /// A line longer than allowed. It is skipped up to its end.
        case tooLong
    }

    /// The most bytes that a line may have from now on, its end not counted (`limits.max_line_bytes`).
    public var maxLineBytes: Int
    private var kept = LineBuffer()
    /// How many of the kept bytes are known to have no LF, so that a line in many pieces is not searched for each.
    private var searched = 0
    private var lent = UnsafeRawBufferPointer(start: nil, count: 0)
    private var skips = false
    private var isAtEnd = false

    /// A framer for lines of up to so many bytes, their ends not counted (`limits.max_line_bytes`).
    public init(maxLineBytes: Int) {
        self.maxLineBytes = maxLineBytes
    }

    /// How many bytes are held that `next` has not handed out.
    public var waitingBytes: Int { kept.count + lent.count }

    /// How much memory is held for what waits.
    var keptCapacity: Int { kept.capacity }

    /// Lends the bytes that were read last. They have to stay in place until `keepRest`.
    public mutating func lend(_ chunk: UnsafeRawBufferPointer) {
        keepRest()
        lent = chunk
    }

    /// The next line; nil when there is no whole one.
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

    /// Copies what `next` has not handed out, so that the lent chunk can be used for something else.
    public mutating func keepRest() {
        kept.append(lent)
        lent = UnsafeRawBufferPointer(start: nil, count: 0)
        kept.shrink()
    }

    /// Tells that nothing more will come. A last line without LF counts as a line: people who type a message, or pipe
    /// it from a file, forget the LF.
    public mutating func finish() {
        isAtEnd = true
    }

    /// A line without its LF, from the kept bytes, from the chunk, or put together from both.
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

    /// What becomes of bytes with no LF behind them: too many for a line, or the last line.
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

    /// One byte more than allowed is not yet too long when it may be the CR of the line's end.
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

/// Bytes that wait for the rest of their line. What is taken from the front stays readable until something is appended.
private struct LineBuffer: ~Copyable {
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

extension UnsafeRawBufferPointer {
    /// The place of the first LF from `start` on.
    fileprivate func lineFeed(from start: Int) -> Int? {
        guard let baseAddress, start < count else { return nil }
        guard let found = memchr(baseAddress + start, 0x0A, count - start) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    /// The line without the CR that an end of CR LF leaves behind.
    fileprivate var withoutCarriageReturn: UnsafeRawBufferPointer {
        last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: dropLast()) : self
    }

    /// Whether there is nothing but spaces and tabs.
    fileprivate var isBlank: Bool {
        allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
