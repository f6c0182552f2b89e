import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Event store: expired events")
struct StoreAgedTests {
    let scene = StoreScene()

    init() {
        // Each group is a block of its own.
        scene.options.blockSize = 1
    }

    private func group(_ numbers: ClosedRange<SequenceNumber>, received: Int64, lives: Int64? = nil) -> AppendGroup {
        Groups.of(numbers, received: received, timeToLive: lives.map { .milliseconds($0) })
    }

    private func aged(_ span: AgedRange) -> [SequenceNumber] {
        var span = span
        var numbers: [SequenceNumber] = []
        while case .success(let chunk?) = scene.answer({ scene.store.readAged(span, then: $0) }) {
            numbers += chunk.map(\.sequenceNumber)
            span.after = chunk.lastSequenceNumber
        }
        return numbers
    }

    private func span(
        _ after: SequenceNumber = 0, _ through: SequenceNumber = 100, received: Int64 = .min, ended: Int64 = .min,
        earlier: AgeLimit? = nil
    ) -> AgedRange {
        AgedRange(
            after: after, through: through, limit: AgeLimit(receivedBy: received, endedBy: ended), earlier: earlier)
    }

    @Test("Q4, Q6: the groups in which a time to live is over are read, and no others, also after a restart")
    func timesToLive() throws {
        try scene.open()
        scene.append(group(1...3, received: 1_000, lives: 100))
        scene.append(group(4...6, received: 1_000))
        scene.append(group(7...9, received: 1_050, lives: 10_000))
        scene.append(group(10...12, received: 1_060, lives: 50))
        for _ in 1...2 {
            #expect(aged(span(ended: 1_099)) == [])
            #expect(aged(span(ended: 1_100)) == [1, 2, 3])
            #expect(aged(span(ended: 1_110)) == [1, 2, 3, 10, 11, 12])
            #expect(aged(span(ended: 20_000)) == [1, 2, 3, 7, 8, 9, 10, 11, 12])
            let earlier = AgeLimit(receivedBy: .min, endedBy: 1_110)
            #expect(aged(span(ended: 20_000, earlier: earlier)) == [7, 8, 9])
            _ = try scene.reopen()
        }
    }

    @Test("Q4: the groups that were received too long ago are read")
    func ages() throws {
        try scene.open()
        for number in 1...5 as ClosedRange<SequenceNumber> {
            scene.append(group(number...number, received: number * 10))
        }
        #expect(aged(span(received: 30)) == [1, 2, 3])
        #expect(aged(span(received: 50, earlier: AgeLimit(receivedBy: 30, endedBy: 0))) == [4, 5])
    }

    @Test("Q4: a range may begin and end inside a group")
    func insideGroups() throws {
        try scene.open()
        for first in [1, 5, 9] as [SequenceNumber] { scene.append(group(first...first + 3, received: 10)) }
        #expect(aged(span(4, 4, received: 10)) == [])
        #expect(aged(span(4, 5, received: 10)) == [5, 6, 7, 8])
        #expect(aged(span(6, 8, received: 10)) == [5, 6, 7, 8])
        #expect(aged(span(6, 9, received: 10)) == Array(5...12))
    }
}
