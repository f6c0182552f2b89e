import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateStore

/// Inserts rows from an input into the tables of a store's database.
struct StoredRows {
    static let tables = [
        "chunks", "quarantined", "dispatchers", "routes", "recent_ids", "dead_letters", "kept", "sqlite_sequence",
    ]
    private let connection: SQLiteConnection
    private(set) var count = 0

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    mutating func add(from input: inout FuzzInput) throws(SQLiteError) {
        count += 1
        switch input.number(below: 7) {
        case 0: try addWrittenChunk(&input)
        case 1: try addChunk(&input)
        case 2: try addDispatcher(&input)
        case 3: try addRoute(&input)
        case 4: try addIDs(&input)
        case 5: try addLetter(&input)
        default: try addKept(&input)
        }
    }

    // MARK: Groups

    /// Inserts a group as the store writes it.
    private func addWrittenChunk(_ input: inout FuzzInput) throws(SQLiteError) {
        let last = max(input.small(), 1)
        let first = max(1, last - Int64(input.number(below: 4)))
        let route = RouteNumber(input.number(below: 4))
        let records = (first...last).flatMap { record(of: $0, route: route) }
        let tally = Tally(events: Int(last - first) + 1, bytes: records.count)
        try insertChunk(
            first...last, TallyBlob.encode([route: tally]), records, receipt: 1_800_000_000_000, isSound: true)
    }

    private func record(of number: SequenceNumber, route: RouteNumber) -> [UInt8] {
        let head = Array("{\"id\":\"e\",\"seq\":\(number),\"event\":\"x\"".utf8)
        let header = RecordHeader(
            length: UInt32(RecordHeader.size + head.count + 4), route: route, sequenceNumber: number,
            receivedStamp: 1_800_000_000_000, expiryStamp: 0, headLength: UInt32(head.count), contextLength: 2,
            idLength: 3, keyLength: 0)
        var bytes = [UInt8](repeating: 0, count: RecordHeader.size)
        bytes.withUnsafeMutableBytes { header.write(to: $0, at: 0) }
        return bytes + head + Array("{}{}".utf8)
    }

    /// Inserts a group of arbitrary bytes, with a correct or a wrong checksum.
    private func addChunk(_ input: inout FuzzInput) throws(SQLiteError) {
        let (last, first) = (input.small(), input.small())
        let isSound = input.bool()
        let receipt = input.small()
        try insertChunk(
            min(first, last)...max(first, last), input.piece(), input.piece(), receipt: receipt, isSound: isSound)
    }

    private func insertChunk(
        _ numbers: ClosedRange<SequenceNumber>, _ tallies: [UInt8], _ records: [UInt8], receipt: Int64, isSound: Bool
    ) throws(SQLiteError) {
        let checksum = tallies.withUnsafeBytes { tallies in
            records.withUnsafeBytes { ChunkChecksum.of(numbers.upperBound, tallies: tallies, records: $0) }
        }
        try connection.run(
            "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", .integer(numbers.upperBound),
            .integer(numbers.lowerBound), .blob(tallies), .integer(receipt), .integer(receipt), .integer(Int64.max),
            .integer(Int64.max), .integer(isSound ? checksum : ~checksum), .blob(records))
    }

    // MARK: Other rows

    private func addDispatcher(_ input: inout FuzzInput) throws(SQLiteError) {
        let id = String(decoding: input.bytes(input.number(below: 3)), as: UTF8.self)
        try connection.run(
            "INSERT OR REPLACE INTO dispatchers VALUES (?, ?, ?, ?, ?)", .integer(input.small()), .text(id),
            .integer(input.small()), .blob(input.piece()), input.bool() ? .null : .integer(input.small()))
    }

    private func addRoute(_ input: inout FuzzInput) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO routes VALUES (?, ?)", .integer(input.small()), .blob(input.piece()))
    }

    private func addIDs(_ input: inout FuzzInput) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO recent_ids VALUES (?, ?, ?, ?, ?)", .integer(input.small()),
            .integer(input.small()), .integer(input.small()), .blob(input.piece()), .integer(input.number(below: 4)))
    }

    private func addLetter(_ input: inout FuzzInput) throws(SQLiteError) {
        let number = input.small()
        let record = input.bool() ? record(of: max(number, 0), route: 1) : input.piece()
        let checksum = record.withUnsafeBytes { DeadLetter.checksum(number, $0) }
        let reasons = DeadLetter.Reason.allCases.map(\.rawValue) + ["", "other"]
        try connection.run(
            "INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            .integer(input.small()), .integer(input.small()), .integer(number),
            .text(reasons[input.number(below: reasons.count)]), input.bool() ? .null : .integer(input.small()),
            .integer(input.small()), .integer(input.small()), .integer(input.small()), .integer(input.small()),
            input.bool() ? .null : .text(String(decoding: input.piece(), as: UTF8.self)),
            .integer(input.bool() ? checksum : 7), .blob(record))
    }

    private func addKept(_ input: inout FuzzInput) throws(SQLiteError) {
        let names = [DedupeKey.name, ClockPair.name, "pause:a", "other"]
        try connection.run(
            "INSERT OR REPLACE INTO kept VALUES (?, ?)", .text(names[input.number(below: names.count)]),
            .blob(input.piece()))
    }
}

extension FuzzInput {
    /// Returns any integer, mostly a small one or one near the limits of the type.
    fileprivate mutating func small() -> Int64 {
        switch byte() {
        case 255: integer()
        case 254: .max
        case 253: .min
        case 252: .max - Int64(byte())
        case 251: -Int64(byte())
        case 250: Int64(Int32.max)
        case 249: 1_800_000_000_000
        case let few: Int64(few)
        }
    }
}
