import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Event store: written records and counts")
struct StoreFormatTests {
    @Test(
        "Q6: tallies are read as they were written",
        arguments: [
            [:], [1: Tally(events: 3, bytes: 900)],
            [7: Tally(events: 1, bytes: 1), .max: Tally(events: 0, bytes: 1 << 33)],
        ] as [RouteTallies])
    func tallies(_ tallies: RouteTallies) {
        var writer = LogWriter()
        writer.put(tallies)
        #expect(read(writer.bytes) == tallies)
    }

    @Test("Q8: tallies with an impossible length or number are refused", arguments: [1, 19, 21])
    func impossibleTallies(_ length: Int) {
        #expect(read([UInt8(length), 0, 0, 0] + [UInt8](repeating: 0, count: length)) == nil)
        #expect(read([20, 0, 0, 0] + [UInt8](repeating: 0xff, count: 20)) == nil)
    }

    private func read(_ bytes: [UInt8]) -> RouteTallies? {
        bytes.withUnsafeBytes { bytes in
            var reader = LogReader(bytes)
            return try? reader.take()
        }
    }

    @Test(
        "Q2: ranges are read as they were written",
        arguments: [
            [], [7...7], [7...9, 11...11, 100...1_000_000_000, 1_000_000_002...1 << 60],
        ] as [[ClosedRange<SequenceNumber>]])
    func ranges(_ ranges: [ClosedRange<SequenceNumber>]) {
        let settled = Settled(through: 5, and: ranges)
        #expect(settled.ranges == ranges)
        let bytes = RangeBlob.encode(settled)
        #expect(decode(bytes, behind: 5) == settled)
        for length in bytes.indices {
            #expect(settled.ranges.starts(with: decode(Array(bytes.prefix(length)), behind: 5).ranges))
        }
    }

    @Test("Q2: impossible ranges are refused: they could make an event seem delivered")
    func impossibleRanges() {
        let sound = RangeBlob.encode(Settled(through: 5, and: [7...9]))
        #expect(decode(sound, behind: 5, through: 8) == Settled(through: 5))
        for bytes in [[0, 1], [1, 0], [0x80], [1], Array(repeating: 0xff, count: 40)] as [[UInt8]] {
            #expect(decode(bytes, behind: 5) == Settled(through: 5))
            #expect(decode(sound + bytes, behind: 5).ranges == [7...9])
        }
        let huge = Array(repeating: UInt8(0xff), count: 8) + [0x7f]
        #expect(decode(huge + huge, behind: 5) == Settled(through: 5))
    }

    private func decode(
        _ bytes: [UInt8], behind position: SequenceNumber, through newest: SequenceNumber = .max
    ) -> Settled {
        bytes.withUnsafeBytes { RangeBlob.decode($0, behind: position, through: newest) }
    }

    @Test("Q6: the backlog is counted from the newest group on, and groups before the oldest position are not read")
    func countEnds() {
        var count = BacklogCount(dispatchers: [.at(5), .at(9, number: 2)], routes: [1: [1, 2]])
        for first in [9, 7, 5] as [SequenceNumber] {
            #expect(!count.isComplete)
            let tallies: RouteTallies = [1: Tally(events: 2, bytes: 20)]
            count.add(LogSpan(first: first, last: first + 1, tallies: tallies, ages: GroupAges())) { _ in
                [1: Tally(events: 1, bytes: 10)]
            }
        }
        #expect(count.isComplete)
        #expect(count.unsettled == [1: [1: Tally(events: 5, bytes: 50)], 2: [1: Tally(events: 1, bytes: 10)]])
    }
}
