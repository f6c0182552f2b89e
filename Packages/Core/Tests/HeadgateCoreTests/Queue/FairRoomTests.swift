import Testing

@testable import HeadgateCore

@Suite("The room that a sender may fill")
struct FairRoomTests {
    private func most(_ limit: Int, heavier: Int, of users: Int, heavierNames: Int = 0, ofNames names: Int = 1) -> Int {
        FairRoom(limit: limit, leastKept: 100).most(
            FairRoom.Rank(heavier: heavier, all: users), FairRoom.Rank(heavier: heavierNames, all: names))
    }

    @Test("Q4: the less a user stored, the more slices of the last tenth it may fill; one slice stays free for others")
    func slices() {
        // The last tenth has three slices of 400. A user's only namespace may fill three quarters of a slice.
        #expect([0, 1].map { most(12_000, heavier: $0, of: 2) } == [11_100, 11_500])
        #expect([0, 1, 2].map { most(12_000, heavier: $0, of: 3) } == [11_040, 11_340, 11_640])
        #expect(most(12_000, heavier: 0, of: 1) == 11_200)
    }

    @Test("Q4: the namespaces of a user divide its slice in the same way")
    func namespaces() {
        let parts = [0, 1].map { most(12_000, heavier: 0, of: 2, heavierNames: $0, ofNames: 2) }
        #expect(parts == [10_971, 11_142])
        #expect(most(12_000, heavier: 1, of: 2, heavierNames: 0, ofNames: 2) == 11_371)
    }

    @Test("Q4: a small store has no slice for others, so a single sender fills it", arguments: 1...999)
    func small(limit: Int) {
        #expect(most(limit, heavier: 0, of: 1) == limit)
        #expect(most(limit, heavier: 1, of: 2) == limit)
    }

    @Test("Q4: with any number of senders, a new one may fill the store further than the others can")
    func newcomer() {
        for users in 1...200 {
            for names in [1, 64] {
                let filled = most(
                    1_000_000_000_000, heavier: users - 1, of: users, heavierNames: names - 1, ofNames: names)
                #expect(most(1_000_000_000_000, heavier: users, of: users + 1) > filled)
                let other = most(
                    1_000_000_000_000, heavier: users - 1, of: users, heavierNames: names, ofNames: names + 1)
                #expect(other > filled)
            }
        }
    }

    @Test("Q4: the largest limit causes no overflow")
    func large() {
        #expect(most(.max, heavier: 200, of: 256, heavierNames: 3, ofNames: 64) > .max / 10 * 9)
    }
}

@Suite("Events that a sender stored in the last minute")
struct UseMeterTests {
    @Test("Q4: events leave the last minute in steps of ten seconds, and the total keeps them")
    func minute() {
        var meter = UseMeter()
        meter.add(10)
        meter.advance(steps: 3)
        meter.add(5)
        #expect(meter.minute == Tally(events: 2, bytes: 15))
        meter.advance(steps: 3)
        #expect(meter.minute == Tally(events: 1, bytes: 5))
        meter.advance(steps: 100)
        #expect(meter.minute == .zero && meter.total == Tally(events: 2, bytes: 15))
    }
}
