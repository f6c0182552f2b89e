import Testing

@testable import HeadgateCore

@Suite("A queue in pages")
struct PagedQueueTests {
    @Test(
        "Q7: under random operations the queue agrees with an array, and elements keep their positions",
        arguments: 1...20 as ClosedRange<UInt64>)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let page = seed.isMultiple(of: 2) ? (Int(FingerprintIndex.positionMask) >> PagedQueue<Int>.pageBits) : 0
        var (queue, model) = (PagedQueue<Int>(page: page), [Int]())
        var start = queue.start
        for step in 1...300 {
            let most = step.isMultiple(of: 20) ? 2 * PagedQueue<Int>.pageSize : 400
            let count = Int.random(in: 0...most, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                for _ in 0..<min(count, model.count) { queue.removeFirst() }
                start += min(count, model.count)
                model.removeFirst(min(count, model.count))
            case 1:
                for _ in 0..<min(count, model.count) { queue.removeLast() }
                model.removeLast(min(count, model.count))
            default:
                let new = (0..<count).map { _ in Int.random(in: .min ... .max, using: &random) }
                for element in new { queue.append(element) }
                model += new
            }
            #expect(queue.start == start && queue.count == model.count, "seed \(seed), step \(step)")
            #expect(queue.isEmpty == model.isEmpty)
            #expect((queue.start..<queue.end).map { queue[$0] } == model, "seed \(seed), step \(step)")
            let short = (queue.start..<queue.end).map { UInt32(truncatingIfNeeded: $0) & FingerprintIndex.positionMask }
            #expect(short.map { queue[queue.position(nearest: $0)] } == model, "seed \(seed), step \(step)")
        }
    }
}
