/// The newest stored events, kept in memory within a bound, so that dispatchers that keep up never read from the store.
struct RecentChunks {
    private var chunks: [Chunk] = []
    /// Those before this place are dropped: what is behind them is moved up once in a while, and not for each.
    private var first = 0
    private var bytes = 0
    private let mostBytes: Int
    /// Every stored event behind this one is in memory.
    private var coveredAfter: SequenceNumber

    init(mostBytes: Int, lastSequenceNumber: SequenceNumber) {
        self.mostBytes = mostBytes
        coveredAfter = lastSequenceNumber
    }

    /// Takes in what was just stored; the oldest goes when the bound is reached.
    mutating func append(_ chunk: Chunk) {
        chunks.append(chunk)
        bytes += chunk.weight
        while bytes > mostBytes, first < chunks.count { dropOldest() }
        moveUp()
    }

    /// Lets go of what every dispatcher has settled.
    mutating func trim(through sequenceNumber: SequenceNumber) {
        while first < chunks.count, chunks[first].lastSequenceNumber <= sequenceNumber { dropOldest() }
        moveUp()
    }

    private mutating func dropOldest() {
        bytes -= chunks[first].weight
        coveredAfter = chunks[first].lastSequenceNumber
        // Its events are given back at once.
        chunks[first] = RecentChunks.nothing
        first += 1
    }

    private static let nothing = Chunk(bytes: [], lastSequenceNumber: 0)

    /// Gives back the places of what was dropped, once there are more of these than of others.
    private mutating func moveUp() {
        guard first > 64, first > chunks.count / 2 else { return }
        chunks.removeFirst(first)
        first = 0
    }

    /// The first chunk with events behind `sequenceNumber`; nil when it is not in memory.
    func chunk(after sequenceNumber: SequenceNumber) -> Chunk? {
        guard sequenceNumber >= coveredAfter else { return nil }
        var (low, high) = (first, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].lastSequenceNumber > sequenceNumber { high = middle } else { low = middle + 1 }
        }
        return low < chunks.count ? chunks[low] : nil
    }
}

extension Chunk {
    /// What a chunk takes in memory, about: also what was taken for events that did not come.
    fileprivate var weight: Int { bytes.capacity + 128 }
}
