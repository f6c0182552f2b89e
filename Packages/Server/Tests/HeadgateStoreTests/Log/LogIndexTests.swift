import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("The index of a segment")
struct LogIndexTests {
    private func span(_ numbers: ClosedRange<SequenceNumber>, routes: ClosedRange<RouteNumber>) -> LogSpan {
        let tallies = routes.reduce(into: RouteTallies()) { $0.add(Tally(events: 1, bytes: 9), route: $1) }
        return LogSpan(first: numbers.lowerBound, last: numbers.upperBound, tallies: tallies, ages: GroupAges())
    }

    @Test("Q6: an index takes at most its weight in bytes, whatever was added and lost")
    func weight() throws {
        var index = LogIndex(blockSize: 100)
        index.add(span(1...2, routes: 1...2), at: 0..<60)
        index.add(span(3...4, routes: 2...3), at: 60..<120)
        index.add(span(5...5, routes: 1...1), at: 120..<160)
        try expectRoom(index)
        index.lose([1: Tally(events: 1, bytes: 9)], at: 0)
        try expectRoom(index)
    }

    @Test(
        "Q6: a block takes at most its bound and one group of memory, however small its packed groups are"
    )
    func packed() {
        var index = LogIndex(blockSize: 100)
        for number in 1...50 as ClosedRange<SequenceNumber> {
            index.add(span(number...number, routes: 1...1), at: Int(number)..<Int(number) + 1)
        }
        #expect(index.blocks.allSatisfy { $0.span.tally.bytes <= 108 } && index.blocks.count == 5)
    }

    private func expectRoom(_ index: LogIndex) throws {
        var writer = LogWriter()
        index.write(to: &writer)
        #expect(writer.bytes.count <= index.weight)
        #expect(try writer.bytes.withRawBytes { try LogIndex($0, blockSize: 100) } == index)
    }
}
