/// The newest stored events, kept in memory within a bound, so that dispatchers that keep up never read from the store.
struct RecentChunks {
    private var chunks: [Chunk] = []
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
        guard bytes > mostBytes else { return }
        var dropped = 0
        while bytes > mostBytes, dropped < chunks.count {
            bytes -= chunks[dropped].weight
            coveredAfter = chunks[dropped].lastSequenceNumber
            dropped += 1
        }
        chunks.removeFirst(dropped)
    }

    /// Lets go of what every dispatcher has settled.
    mutating func trim(through sequenceNumber: SequenceNumber) {
        let settled = chunks.prefix { $0.lastSequenceNumber <= sequenceNumber }
        guard let last = settled.last else { return }
        bytes -= settled.reduce(0) { $0 + $1.weight }
        coveredAfter = last.lastSequenceNumber
        chunks.removeFirst(settled.count)
    }

    /// The first chunk with events behind `sequenceNumber`; nil when it is not in memory.
    func chunk(after sequenceNumber: SequenceNumber) -> Chunk? {
        guard sequenceNumber >= coveredAfter else { return nil }
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].lastSequenceNumber > sequenceNumber { high = middle } else { low = middle + 1 }
        }
        return low < chunks.count ? chunks[low] : nil
    }
}

extension Chunk {
    /// What a chunk takes in memory, about.
    fileprivate var weight: Int { bytes.count + 128 }
}
