import HeadgateData

@testable import HeadgateCore

/// The records of stored events. Values read from any bytes must lie within them, and a written record must read the
/// same.
enum RecordsTarget {
    /// The first byte selects: the rest is a chunk, or the parts of an event.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        if input.bool() { write(&input) } else { read(input.remainder()) }
        return 0
    }

    // MARK: Reading

    private static func read(_ bytes: [UInt8]) {
        let chunk = Chunk(bytes: bytes, lastSequenceNumber: 1)
        var end = 0
        for event in chunk {
            precondition(event.offset == end && chunk.offset(after: event) <= bytes.count)
            end = chunk.offset(after: event)
            inspect(event)
        }
        precondition(chunk.event(at: end) == nil && chunk.event(at: bytes.count) == nil)
    }

    private static func inspect(_ event: StoredEvent) {
        precondition(event.record.count == RecordHeader.size + event.byteCount)
        precondition(event.id.utf8.count >= 0 && event.orderKey == event.key.map(EventKey.init))
        _ = (event.isExpired(at: event.receivedStamp), event.timeToLive)
        let plain = event.json(attempt: 1)
        precondition(plain.count > event.byteCount)
        copy(event)
    }

    /// Checks that a copy under another number is the same event, and that a copy of the copy does not differ.
    private static func copy(_ event: StoredEvent) {
        let first = again(event)
        precondition(first.header.dataLength == event.header.dataLength)
        precondition(first.header.contextLength == event.header.contextLength)
        precondition(first.header.idLength == event.header.idLength && first.id == event.id)
        precondition(first.sequenceNumber == number && first.route == 9 && first.receivedStamp == 5)
        precondition(again(first).record == first.record, "a copy of a copy differs")
    }

    private static let number: SequenceNumber = 1_234_567

    private static func again(_ event: StoredEvent) -> StoredEvent {
        var writer = RecordWriter()
        let count = writer.append(event, sequenceNumber: number, route: 9, receivedStamp: 5)
        guard let copy = Chunk(bytes: writer.take(), lastSequenceNumber: number).event(at: 0) else {
            preconditionFailure("a copy that is no event")
        }
        precondition(copy.byteCount == count)
        return copy
    }

    // MARK: Writing

    private static func write(_ input: inout FuzzInput) {
        let number = input.integer(Int64.self) & .max
        let stamp = Int64(input.integer(UInt32.self))
        let lifetime: Duration? = input.bool() ? .milliseconds(input.integer(Int64.self) & .max) : nil
        let time = input.bool() ? Timestamp(milliseconds: input.integer()) : nil
        let pieces = [input.piece(), input.piece(), input.piece()].map(quoted)
        let objects = [input.piece(), input.remainder()].map { [UInt8(ascii: "{")] + $0 + [UInt8(ascii: "}")] }
        let key = pieces[2].count > 2 ? pieces[2] : nil
        let all = pieces.flatMap(\.self) + objects.flatMap(\.self)
        all.withUnsafeBytes { bytes in
            var ends = [0]
            for piece in pieces + objects { ends.append((ends.last ?? 0) + piece.count) }
            func piece(_ index: Int) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: bytes[ends[index]..<ends[index + 1]])
            }
            let event = TrackedEvent(
                id: piece(0), identity: nil, name: piece(1), time: time, key: key == nil ? nil : piece(2),
                timeToLive: lifetime, context: piece(3), data: piece(4), route: 3)
            check(event, number, stamp, lifetime)
        }
    }

    private static func quoted(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
    }

    private static func check(
        _ event: TrackedEvent, _ number: SequenceNumber, _ stamp: Int64, _ lifetime: Duration?
    ) {
        var writer = RecordWriter()
        let received = Timestamp(milliseconds: stamp)
        let count = writer.append(event, sequenceNumber: number, receivedAt: received, receivedStamp: stamp)
        let expected = event.storedByteCount(number)
        precondition(count == expected, "\(count) bytes instead of \(expected)")
        let bytes = writer.take()
        guard let stored = Chunk(bytes: bytes, lastSequenceNumber: number).event(at: 0) else {
            preconditionFailure("what was written is no event")
        }
        precondition(stored.record == bytes && stored.sequenceNumber == number && stored.receivedStamp == stamp)
        precondition(Array(stored.id.utf8) == Array(String(decoding: event.id, as: UTF8.self).utf8))
        precondition(stored.key.map(Array.init) == event.key.map(Array.init))
        precondition(stored.timeToLive.map { $0 <= lifetime ?? .zero } ?? true)
        let copy = again(stored)
        precondition(copy.key.map(Array.init) == event.key.map(Array.init))
        let tail = spaced(Array(event.context) + Array(event.data))
        precondition(spaced(bytes.suffix(tail.count)) == tail && spaced(copy.record.suffix(tail.count)) == tail)
    }

    /// Replaces tabs, line ends and other control characters by spaces. In JSON they occur only between tokens, where
    /// white space is not kept (Behaviour P6).
    private static func spaced(_ bytes: some Sequence<UInt8>) -> [UInt8] { bytes.map { max($0, 0x20) } }
}
