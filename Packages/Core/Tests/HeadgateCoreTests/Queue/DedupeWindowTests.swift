import Testing

@testable import HeadgateCore

@Suite("The window of ids")
struct DedupeWindowTests {
    @Test(
        "Q7: under random operations the window agrees with a simple model",
        arguments: 1...20 as ClosedRange<UInt64>)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // Every second run starts at positions that the index cannot distinguish by their low bits.
        let page = seed.isMultiple(of: 2) ? (Int(FingerprintIndex.positionMask) >> PagedQueue<Int>.pageBits) : 0
        var (window, model) = (
            DedupeWindow(capacity: 50, length: 1_000, page: page), SlowWindow(capacity: 50, length: 1_000)
        )
        var (now, number) = (Int64.random(in: -5_000...5_000, using: &random), SequenceNumber(0))
        for _ in 1...8_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: now += Int64.random(in: 0...1_500, using: &random)
            // The step exceeds the range of an entry's compact form.
            case 5 where random.oneIn(10): now += Int64(UInt32.max) + Int64.random(in: -1...1, using: &random)
            case 6 where random.oneIn(10): number += Int64(UInt32.max) + Int64.random(in: -1...1, using: &random)
            case 1: now += 1
            case 2:
                let first = number - SequenceNumber.random(in: 0...20, using: &random)
                window.forget(from: first)
                model.ids.removeAll { $0.number >= first }
            case 3 where random.oneIn(4):
                let capacity = Int.random(in: 0...80, using: &random)
                window.setCapacity(capacity)
                (model.capacity, model.ids) = (capacity, model.ids.suffix(capacity))
            case 4 where random.oneIn(4):
                let length = random.oneIn(3) ? Int64(1) << 33 : Int64.random(in: 0...2_000, using: &random)
                // A wider window does not bring back ids that a shorter window has dropped.
                window.forget(at: now, most: .max)
                model.ids.removeAll { $0.stamp <= now - model.length }
                (window.length, model.length) = (length, length)
            default:
                number += SequenceNumber.random(in: 1...3, using: &random)
                let id = Int.random(in: 0..<100, using: &random)
                let found = window.find(SlowWindow.fingerprint(id), at: now)
                #expect(found == model.find(id, at: now), "seed \(seed), id \(id) at \(now)")
                guard found == nil else { continue }
                window.insert(SlowWindow.fingerprint(id), sequenceNumber: number, stamp: now)
                model.insert(id, number, now)
            }
            let remembered = window.remembered(at: now)
            #expect(remembered.ids == model.live(at: now).count, "seed \(seed)")
            #expect(remembered.since == model.live(at: now).first?.stamp, "seed \(seed)")
            // The store must not forget an id that the window remembers.
            #expect(model.live(at: now).allSatisfy { $0.number > window.forgottenThrough }, "seed \(seed)")
        }
    }

    @Test("Q7: a smaller capacity forgets the oldest ids, and reports them like ids dropped for room")
    func smaller() {
        var window = DedupeWindow(capacity: 10, length: 100)
        for id in 1...12 { window.insert(SlowWindow.fingerprint(id), sequenceNumber: SequenceNumber(id), stamp: 0) }
        #expect(window.forgotten == 2 && window.forgottenThrough == 2)
        window.setCapacity(4)
        #expect(window.forgotten == 8 && window.forgottenThrough == 8)
        window.setCapacity(5)
        #expect(window.forgotten == 8 && window.forgottenThrough == 8)
    }

    @Test("Q7: a stamp earlier than the previous one counts as that one, so that no id is forgotten early")
    func backwards() {
        var window = DedupeWindow(capacity: 10, length: 100)
        window.insert(SlowWindow.fingerprint(1), sequenceNumber: 1, stamp: 1_000)
        window.insert(SlowWindow.fingerprint(2), sequenceNumber: 2, stamp: 500)
        #expect(window.find(SlowWindow.fingerprint(2), at: 1_099) == 2)
        #expect(window.find(SlowWindow.fingerprint(2), at: 1_100) == nil)
        #expect(window.remembered(at: 1_099) == (2, 1_000))
    }

    @Test("Q7: many expired ids are removed in small steps, and none of them is found meanwhile")
    func bitByBit() {
        var window = DedupeWindow(capacity: 1_000, length: 100)
        for id in 1...1_000 {
            window.insert(SlowWindow.fingerprint(id), sequenceNumber: SequenceNumber(id), stamp: 0)
        }
        window.insert(SlowWindow.fingerprint(5_000), sequenceNumber: 5_000, stamp: 100)
        #expect(window.forgotten < 100)
        #expect((1...1_000).allSatisfy { window.find(SlowWindow.fingerprint($0), at: 100) == nil })
        #expect(window.remembered(at: 100) == (1, 100))
    }
}

/// A simple model of ``DedupeWindow``.
private struct SlowWindow {
    var capacity: Int
    var length: Int64
    var ids: [(id: Int, number: SequenceNumber, stamp: Int64)] = []

    static func fingerprint(_ id: Int) -> DedupeWindow.Fingerprint {
        // Many of the first halves are equal, so that a match of the first half alone is no proof.
        DedupeWindow.Fingerprint(first: UInt64(id % 17), second: UInt64(id))
    }

    func live(at now: Int64) -> [(id: Int, number: SequenceNumber, stamp: Int64)] {
        ids.filter { $0.stamp > now - length }
    }

    func find(_ id: Int, at now: Int64) -> SequenceNumber? {
        live(at: now).last { $0.id == id }?.number
    }

    mutating func insert(_ id: Int, _ number: SequenceNumber, _ stamp: Int64) {
        ids = (ids + [(id, number, stamp)]).suffix(capacity)
    }
}
