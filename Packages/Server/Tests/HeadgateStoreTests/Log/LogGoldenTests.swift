import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateStore

/// Compares the bytes of the log with those of `Docs/Log.md`. After a change that makes a test fail, other versions would
/// misread the files. ``LogFormat/version`` must then be raised.
@Suite("The bytes of the log")
struct LogGoldenTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func hex(_ body: (inout LogWriter) -> Void) -> String {
        var writer = LogWriter()
        body(&writer)
        return hex(writer.bytes)
    }

    @Test("Q11: a file begins with these bytes")
    func header() {
        let header = LogHeader(use: .active, number: 5, previous: 4, previousEnd: 4_096)
        #expect(
            hex(header.bytes)
                == "68676174656c6f67" + "05000000" + "01000000" + "0500000000000000" + "0400000000000000"
                + "0010000000000000" + "0000000000000000" + "0000000000000000" + "b81d09b0c4efe350")
    }

    @Test("Q11: a frame is encoded as these bytes, and the content's checksum equals that of `xxhsum -H3`")
    func frame() {
        var writer = LogWriter()
        let position = LogPosition(segment: 5, offset: 64)
        let sum = writer.frame(.changes, at: position, certain: 64, previous: 9, { $0.put("abc") })
        #expect(
            hex(writer.bytes)
                == "48667233" + "02000000" + "0700000000000000" + "4000000000000000" + "0900000000000000"
                + "4cbe6e8c68f35c56" + hex { $0.put(sum) } + "03000000616263" + "00")
        #expect(sum == 15_776_394_213_003_330_098)
    }

    @Test("Q11: a group is encoded as these bytes")
    func group() {
        let group = Groups.of(7...7, route: 3, size: 2, timeToLive: .milliseconds(50), newRoutes: [3: [1, 258]])
        let span =
            "0700000000000000" + "0700000000000000" + "e803000000000000" + "e803000000000000" + "1a04000000000000"
            + "1a04000000000000" + "14000000" + "0300000001000000000000007e00000000000000"
        let extras =
            "01000000" + "03000000" + "02000000" + "01000000" + "02010000"
            + "00000000" + "00000000" + "00000000" + "0000000000000000" + "00000000"
        let records = group.chunk.bytes
        let size = hex { $0.put(UInt32(records.count)) }
        #expect(
            hex { LogGroup.write(group, packedFrom: .max, to: &$0) }
                == span + "2c0000002c000000" + extras + size + size + hex(records))
    }

    @Test("Q11: a packed piece is read from these bytes: a block of LZ4 after its unpacked and packed lengths")
    func packed() throws {
        let bytes = Array("no, no, no, no, no, no, no, no, no, no".utf8)
        // Four literal bytes, a match of 29 bytes at distance four, and the five literal bytes that end a block.
        let block = [0x4F] + bytes.prefix(4) + [4, 0, 10] + [0x50] + bytes.suffix(5)
        let piece = [38, 0, 0, 0, 14, 0, 0, 0] + block
        var read: [UInt8] = []
        #expect(
            try piece.withRawBytes { (piece) throws(LogReader.Unsound) in
                var reader = LogReader(piece)
                return try reader.takePackedPiece().append(to: &read)
            })
        #expect(read == bytes)
    }

    @Test("Q11: the ids that clients gave are encoded as these bytes")
    func ids() {
        var ids = LogIDs()
        ids.add(RecentIDs(lastSequenceNumber: 9, receivedStamp: 8, count: 1, bytes: [1, 2]))
        let list = "01000000" + "0900000000000000" + "0800000000000000" + "01000000" + "02" + "020000000102"
        #expect(hex { ids.writeRecent(packedFrom: .max, to: &$0) } == "1f0000001f000000" + list)
    }

    @Test("Q11: each change is encoded as these bytes", arguments: changes)
    func change(_ change: LogChange, _ bytes: String) {
        #expect(hex { change.write(to: &$0) } == bytes)
    }

    private static let dispatcher = "01000000" + "0100000061" + "0500000000000000" + "020000000203"
    private static let deadLetter =
        "02000000" + "0700000000000000" + "0c0000006d61785f617474656d707473" + "01f701000000000000" + "01000000"
        + "0400000062757379" + "6400000000000000" + "0500000000000000" + "0600000000000000" + "020000007b7d"

    private static let changes: [(LogChange, String)] = [
        (
            .requested(.dispatcher(StoredDispatcher(number: 1, id: "a", settled: Settled(through: 5, and: [7...9])))),
            "01" + dispatcher + "00"
        ),
        (.requested(.forgetDispatcher(2)), "02" + "02000000"),
        (
            .requested(.settled(1, Settled(through: 5, and: [7...9]))),
            "03" + "01000000" + "0500000000000000" + "020000000203"
        ),
        (.requested(.deadLetter(.sample(7, dispatcher: 2))), "04" + deadLetter),
        (.requested(.trim(through: 8)), "05" + "0800000000000000"),
        (.requested(.forgetRoutes([3])), "06" + "01000000" + "03000000"),
        (.requested(.forgetIDs(through: 8)), "07" + "0800000000000000"),
        (
            .requested(.limitDeadLetters(DeadLetterLimits(count: 3, bytes: 4))),
            "0e" + "0300000000000000" + "0400000000000000"
        ),
        (.requested(.keep("a", [4, 5])), "08" + "0100000061" + "01000000" + "020000000405"),
        (.requested(.keep("a", nil)), "08" + "0100000061" + "00000000"),
        (
            .requested(.retain(Retention(receivedAfter: 7, maxBytes: 8))),
            "0f" + "01000000" + "0700000000000000" + "0800000000000000"
        ),
        (.requested(.retain(nil)), "0f" + "00000000"),
        (.unretained(through: 8), "10" + "0800000000000000"),
        (.rewound(1, Settled(through: 5, and: [7...9])), "11" + "01000000" + "0500000000000000" + "020000000203"),
        (.routes([3: [1, 258]]), "12" + "01000000" + "03000000" + "02000000" + "01000000" + "02010000"),
        (.erased([3, 258]), "13" + "02000000" + "0300000000000000" + "0201000000000000"),
        (.erasureEnded, "14"),
        (.deadLettersGone([9]), "09" + "01000000" + "0900000000000000"),
        (.forgotten([6]), "0a" + "01000000" + "0600000000000000"),
        (
            .replaced(
                [6],
                by: LogSegmentEntry(
                    number: 8, file: LogFile(number: 2, size: 512), summary: 128, end: 256,
                    events: LogEvents(first: 3, last: 4)),
                deadLetters: [9: DeadLetterPosition(frame: LogPosition(segment: 8, offset: 64), index: 1)]),
            "0b" + "01000000" + "0600000000000000" + "0800000000000000" + "02000000" + "0002000000000000"
                + "8000000000000000" + "0001000000000000" + "0300000000000000" + "0400000000000000" + "01000000"
                + "0900000000000000" + "0800000000000000" + "4000000000000000" + "01000000"
        ),
        (
            .damaged(LogPosition(segment: 6, offset: 64), lost: [3: Tally(events: 1, bytes: 126)]),
            "0c" + "0600000000000000" + "4000000000000000" + "14000000" + "0300000001000000000000007e00000000000000"
        ),
        (
            .numberedDeadLetter(StoredDeadLetter(number: 9, deadLetter: .sample(7, dispatcher: 2))),
            "0d" + "0900000000000000" + deadLetter
        ),
    ]

    @Test("Q11: a state is encoded as these bytes")
    func state() {
        var state = LogState()
        state.dispatchers[1] = StoredDispatcher(number: 1, id: "a", settled: Settled(through: 5, and: [7...9]))
        state.routes = [3: [1]]
        state.kept = ["b": [4]]
        (state.lastSequenceNumber, state.newestStamp, state.trimmedThrough) = (9, 44, 2)
        (state.unretainedThrough, state.retention) = (1, Retention(receivedAfter: 7, maxBytes: 8))
        let position = DeadLetterPosition(frame: LogPosition(segment: 6, offset: 64), index: 1)
        state.deadLetters.add(.sample(7, dispatcher: 2), at: position)
        let ids = RecentIDs(lastSequenceNumber: 9, receivedStamp: 8, count: 1, bytes: [1, 2])
        let filed = LogIDs.Filed(file: LogFile(number: 3, size: 256), segment: 7, last: 8)
        state.ids = LogIDs(recent: [ids], files: [filed], forgottenThrough: 4)
        state.segments = [
            LogSegmentEntry(
                number: 6, file: LogFile(number: 2, size: 512), summary: 128, end: 256,
                events: LogEvents(first: 3, last: 4))
        ]
        state.damaged = [LogPosition(segment: 6, offset: 64): [3: Tally(events: 1, bytes: 126)]]
        state.erased = [5, 3]
        let expected = [
            "0900000000000000", "012c00000000000000", "0200000000000000", "0100000000000000",
            "01000000" + "0700000000000000" + "0800000000000000",
            "01000000" + Self.dispatcher + "00",
            "01000000" + "03000000" + "01000000" + "01000000",
            "01000000" + "0100000062" + "0100000004",
            "0100000000000000",
            "01000000" + "0100000000000000" + "02000000" + "0700000000000000"
                + "0600000000000000" + "4000000000000000" + "01000000" + "0200000000000000",
            "01000000" + "0900000000000000" + "0800000000000000" + "01000000" + "02" + "020000000102",
            "01000000" + "03000000" + "0001000000000000" + "0700000000000000" + "0800000000000000",
            "0400000000000000",
            "01000000" + "0600000000000000" + "02000000" + "0002000000000000" + "8000000000000000"
                + "0001000000000000" + "0300000000000000" + "0400000000000000",
            "01000000" + "0600000000000000" + "4000000000000000" + "14000000"
                + "0300000001000000000000007e00000000000000",
            "01000000" + "01000000" + "0000000000000000" + "2800000000000000" + String(repeating: "0", count: 112),
        ]
        #expect(hex { $0.put(state) } == expected.joined())
    }

    @Test("Q11: a summary is encoded as these bytes")
    func summary() {
        var index = LogIndex(blockSize: 100)
        index.add(
            LogSpan(first: 3, last: 4, tallies: [3: Tally(events: 2, bytes: 126)], ages: GroupAges()), at: 64..<256)
        let ages = "ffffffffffffff7f" + "0000000000000080" + "ffffffffffffff7f" + "0000000000000080"
        #expect(
            hex { index.write(to: &$0) }
                == "01000000" + "4000000000000000" + "0001000000000000" + "0300000000000000" + "0400000000000000" + ages
                + "14000000" + "0300000002000000000000007e00000000000000")
    }
}
