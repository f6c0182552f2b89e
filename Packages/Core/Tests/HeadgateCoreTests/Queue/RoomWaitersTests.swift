import HeadgateSeeds
import Testing

@testable import HeadgateCore

@Suite("Waiting for room in a group")
struct RoomWaitersTests {
    @Test("Waiters continue in order of arrival, in any history of arrivals", arguments: Seeds.first(10))
    func anyHistory(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var (line, model): (RoomWaiters, [Int]) = (RoomWaiters(), [])
        var (next, taken): (Int, [Int]) = (0, [])
        for _ in 0..<200 {
            for _ in 0..<Int.random(in: 0...100, using: &random) {
                let number = next
                line.add { taken.append(number) }
                model.append(number)
                next += 1
            }
            for _ in 0..<Int.random(in: 0...100, using: &random) {
                let work = line.takeFirst()
                #expect((work == nil) == model.isEmpty, "\(seed)")
                guard let work else { break }
                work()
                #expect(taken.last == model.removeFirst(), "\(seed)")
            }
            #expect(line.isEmpty == model.isEmpty, "\(seed)")
        }
    }
}
