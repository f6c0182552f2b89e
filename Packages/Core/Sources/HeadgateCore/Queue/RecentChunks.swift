import HeadgateData

/// The newest stored events within a memory limit, so that a dispatcher that keeps up never reads from the store.
struct RecentChunks {
    private var chunks: [Chunk] = []
    /// The index of the first chunk in use. The array is compacted now and then, not for each dropped chunk.
    private var first = 0
    private var bytes = 0
    private let mostBytes: Int
    /// All stored events after this one are in memory.
    private var coveredAfter: SequenceNumber

    init(mostBytes: Int, lastSequenceNumber: SequenceNumber) {
        self.mostBytes = mostBytes
        coveredAfter = lastSequenceNumber
    }

    /// Adds a newly stored chunk, and drops the oldest chunks beyond the limit.
    mutating func append(_ chunk: Chunk) {
        chunks.append(chunk)
        bytes += chunk.weight
        while bytes > mostBytes, first < chunks.count { dropOldest() }
        moveUp()
    }

    /// Drops chunks that every dispatcher has settled.
    mutating func trim(through sequenceNumber: SequenceNumber) {
        while first < chunks.count, chunks[first].lastSequenceNumber <= sequenceNumber { dropOldest() }
        moveUp()
    }

    private mutating func dropOldest() {
        bytes -= chunks[first].weight
        coveredAfter = chunks[first].lastSequenceNumber
        // Free the chunk's memory at once.
        chunks[first] = RecentChunks.nothing
        first += 1
    }

    private static let nothing = Chunk(bytes: [], lastSequenceNumber: 0)

    /// Compacts the array once dropped entries are in the majority.
    private mutating func moveUp() {
        guard first > 64, first > chunks.count / 2 else { return }
        chunks.removeFirst(first)
        first = 0
    }

    /// Returns the first chunk with events after `sequenceNumber`, or nil if it is not in memory.
    func chunk(after sequenceNumber: SequenceNumber) -> Chunk? {
        guard sequenceNumber >= coveredAfter else { return nil }
        let index = BinarySearch.first(in: first..<chunks.count) { chunks[$0].lastSequenceNumber > sequenceNumber }
        return index < chunks.count ? chunks[index] : nil
    }
}

extension Chunk {
    /// The approximate memory of a chunk in bytes, with reserved capacity that was not used.
    fileprivate var weight: Int { bytes.capacity + 128 }
}
