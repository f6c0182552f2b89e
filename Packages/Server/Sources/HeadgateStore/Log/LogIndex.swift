import HeadgateCore
import HeadgateData

/// A block of a segment, which is read at once, and the span of its events.
struct LogBlock: Equatable {
    /// The range from its first frame of events to the end of its last.
    var range: Range<Int>
    var span: LogSpan

    /// The bytes that it takes in memory: packed groups take more than in the file.
    var size: Int { max(range.count, span.tally.bytes) }
}

/// The index of a segment, block by block. It is small enough to be kept in memory. A full segment ends with it, so
/// that a start reads no events (Behaviour Q6).
struct LogIndex: Equatable {
    private(set) var blocks: [LogBlock] = []
    /// The bytes that the index takes in a summary, and a little more.
    private(set) var weight = LogIndex.weight(of: [])
    /// The number and size of the events of all blocks.
    private(set) var total = Tally.zero
    private let blockSize: Int

    init(blockSize: Int) {
        self.blockSize = blockSize
    }

    /// Adds a frame of events after all others.
    mutating func add(_ span: LogSpan, at range: Range<Int>) {
        total += span.tally
        guard let last = blocks.indices.last, blocks[last].size < blockSize else {
            blocks.append(LogBlock(range: range, span: span))
            weight += LogIndex.weight(of: span.tallies.count)
            return
        }
        weight -= LogIndex.weight(of: blocks[last].span.tallies.count)
        blocks[last].range = blocks[last].range.lowerBound..<range.upperBound
        blocks[last].span.add(span)
        weight += LogIndex.weight(of: blocks[last].span.tallies.count)
    }

    /// Removes lost events of a block.
    mutating func lose(_ lost: RouteTallies, at offset: Int) {
        guard let index = blocks.firstIndex(where: { $0.range.lowerBound == offset }) else { return }
        blocks[index].span.tallies = blocks[index].span.tallies - lost
        total = LogIndex.total(of: blocks)
        weight = LogIndex.weight(of: blocks)
    }

    /// Returns the present state of a block, which may have lost events; nil if the index no longer has the block.
    func present(_ block: LogBlock) -> LogBlock? {
        blocks.first { $0.range == block.range }
    }

    /// The first event, and the last.
    var events: LogEvents {
        guard let first = blocks.first, let last = blocks.last else { return LogEvents() }
        return LogEvents(first: first.span.first, last: last.span.last)
    }

    /// Returns the index of the first block with events after a sequence number.
    func firstBlock(behind number: SequenceNumber) -> Int {
        BinarySearch.first(in: 0..<blocks.count) { blocks[$0].span.last > number }
    }

    private static func total(of blocks: [LogBlock]) -> Tally { blocks.reduce(.zero) { $0 + $1.span.tally } }

    private static func weight(of blocks: [LogBlock]) -> Int {
        blocks.reduce(64) { $0 + LogIndex.weight(of: $1.span.tallies.count) }
    }

    /// Returns the bytes of a block with events of a number of routes.
    static func weight(of routes: Int) -> Int { 80 + routes * 20 }

    // MARK: Encoding

    func write(to writer: inout LogWriter) { writer.put(blocks) }

    init(_ bytes: UnsafeRawBufferPointer, blockSize: Int) throws(LogReader.Unsound) {
        self.blockSize = blockSize
        var reader = LogReader(bytes)
        blocks = try reader.take()
        weight = LogIndex.weight(of: blocks)
        total = LogIndex.total(of: blocks)
    }
}

extension LogBlock: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(range.lowerBound)
        writer.put(range.upperBound)
        writer.put(span)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let (lower, upper): (Int, Int) = (try reader.take(), try reader.take())
        guard lower < upper else { throw LogReader.Unsound() }
        (range, span) = (lower..<upper, try reader.take())
    }
}
