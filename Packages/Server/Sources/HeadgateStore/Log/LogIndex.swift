import HeadgateCore

/// A piece of a segment that is read at once, and what it holds.
struct LogBlock: Equatable {
    /// Where its first frame of events begins, and its last ends.
    var range: Range<Int>
    var stretch: LogStretch

    /// Bytes that it takes in memory, where packed groups take more than in the file.
    var size: Int { max(range.count, stretch.tally.bytes) }
}

/// What a segment holds, block by block: small enough to be kept in memory, and written down when the segment is full, so that a
/// start reads no events (Behaviour Q6).
struct LogIndex: Equatable {
    private(set) var blocks: [LogBlock] = []
    /// Bytes that it takes when it is written down, and a little more.
    private(set) var weight = LogIndex.weight(of: [])
    /// The number and size of the events of all blocks.
    private(set) var total = Tally.zero
    private let blockSize: Int

    init(blockSize: Int) {
        self.blockSize = blockSize
    }

    /// Takes in a frame of events that lies behind all others.
    mutating func add(_ stretch: LogStretch, at range: Range<Int>) {
        total += stretch.tally
        guard let last = blocks.indices.last, blocks[last].size < blockSize else {
            blocks.append(LogBlock(range: range, stretch: stretch))
            weight += LogIndex.weight(of: stretch.tallies.count)
            return
        }
        weight -= LogIndex.weight(of: blocks[last].stretch.tallies.count)
        blocks[last].range = blocks[last].range.lowerBound..<range.upperBound
        blocks[last].stretch.add(stretch)
        weight += LogIndex.weight(of: blocks[last].stretch.tallies.count)
    }

    /// Some of what a block held is lost.
    mutating func lose(_ lost: RouteTallies, at offset: Int) {
        guard let index = blocks.firstIndex(where: { $0.range.lowerBound == offset }) else { return }
        blocks[index].stretch.tallies = blocks[index].stretch.tallies - lost
        total = LogIndex.total(of: blocks)
        weight = LogIndex.weight(of: blocks)
    }

    /// A block as it is now: some of what it held may have been lost. Nil where there is none such any more.
    func present(_ block: LogBlock) -> LogBlock? {
        blocks.first { $0.range == block.range }
    }

    /// How many events it holds.
    var count: Int {
        blocks.reduce(0) { $0 + $1.stretch.tally.events }
    }

    /// The first event, and the last.
    var events: LogEvents {
        guard let first = blocks.first, let last = blocks.last else { return LogEvents() }
        return LogEvents(first: first.stretch.first, last: last.stretch.last)
    }

    /// The place of the first block with events behind a sequence number.
    func firstBlock(behind number: SequenceNumber) -> Int {
        var (low, high) = (0, blocks.count)
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle].stretch.last > number { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func total(of blocks: [LogBlock]) -> Tally { blocks.reduce(.zero) { $0 + $1.stretch.tally } }

    private static func weight(of blocks: [LogBlock]) -> Int {
        blocks.reduce(64) { $0 + LogIndex.weight(of: $1.stretch.tallies.count) }
    }

    /// Bytes that a block takes which holds events of so many routes.
    static func weight(of routes: Int) -> Int { 80 + routes * 20 }

    // MARK: Written down

    func write(to writer: inout LogWriter) {
        writer.put(all: blocks) { writer, block in
            writer.put(UInt64(block.range.lowerBound))
            writer.put(UInt64(block.range.upperBound))
            writer.put(block.stretch)
        }
    }

    init(_ bytes: UnsafeRawBufferPointer, blockSize: Int) throws(LogReader.Unsound) {
        self.blockSize = blockSize
        var reader = LogReader(bytes)
        blocks = try reader.takeAll { (reader) throws(LogReader.Unsound) in
            let (lower, upper) = (try reader.take(UInt64.self), try reader.take(UInt64.self))
            guard lower < upper, upper < 1 << 40 else { throw LogReader.Unsound() }
            return LogBlock(range: Int(lower)..<Int(upper), stretch: try reader.takeStretch())
        }
        weight = LogIndex.weight(of: blocks)
        total = LogIndex.total(of: blocks)
    }
}
