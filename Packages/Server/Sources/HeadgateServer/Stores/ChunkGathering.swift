import HeadgateCore

/// Rows that are read at once and handed out as one chunk: a backlog of lone events is not one job an event.
struct ChunkGathering {
    private var bytes: [UInt8] = []
    private var rows = 0
    /// The last row that was looked at.
    private(set) var last: SequenceNumber
    /// Rows whose contents are not what was written.
    private(set) var damaged: [SequenceNumber] = []

    private static let mostBytes = 128 << 10
    static let mostRows = 512

    init(after sequenceNumber: SequenceNumber) {
        last = sequenceNumber
    }

    /// What was gathered; nil when it is nothing.
    var chunk: Chunk? {
        bytes.isEmpty ? nil : Chunk(bytes: bytes, lastSequenceNumber: last)
    }

    /// Takes a row in.
    /// - Returns: whether there is room for more.
    mutating func take(_ row: ChunkRow) -> Bool {
        last = row.last
        rows += 1
        if row.isSound { bytes += row.records } else { damaged.append(row.last) }
        return rows < ChunkGathering.mostRows && bytes.count < ChunkGathering.mostBytes
    }

    /// A row could not even be read.
    mutating func takeDamaged(_ row: SequenceNumber) {
        last = row
        damaged.append(row)
    }
}

/// One committed group, while a query stands at it.
struct ChunkRow {
    /// The columns, in the order that ``init(_:)`` reads them.
    static let columns = "last_seq, tallies, checksum, records"

    let last: SequenceNumber
    let records: UnsafeRawBufferPointer
    /// Whether the row is as it was written.
    let isSound: Bool

    init(_ row: SQLiteRow) {
        last = row.integer(0)
        records = row.bytes(3)
        isSound = ChunkChecksum.of(last, tallies: row.bytes(1), records: records) == row.integer(2)
    }
}
