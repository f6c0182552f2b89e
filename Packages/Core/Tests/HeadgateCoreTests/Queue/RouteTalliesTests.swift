import HeadgateSeeds
import Testing

@testable import HeadgateCore

/// Compares ``RouteTallies`` with a plain dictionary.
@Suite("Events by route")
struct RouteTalliesTests {
    @Test("Q4: tallies per route are correct for additions and removals in any order", arguments: Seeds.first(50))
    func model(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var (tallies, model) = (RouteTallies(), [RouteNumber: Tally]())
        for _ in 0..<100 {
            let route = RouteNumber(Int.random(in: 0...3, using: &random))
            if let present = model[route], random.oneIn(3) {
                let isAll = random.oneIn(2)
                let removed = isAll ? present : Tally(events: 0, bytes: min(1, present.bytes))
                tallies.remove(removed, route: route)
                model[route] = present - removed
            } else {
                let tally = Tally(events: 1, bytes: Int.random(in: 1...9, using: &random))
                tallies.add(tally, route: route)
                model[route, default: .zero] += tally
            }
            model = model.filter { $0.value != .zero }
            check(tallies, model)
        }
    }

    private func check(_ tallies: RouteTallies, _ model: [RouteNumber: Tally]) {
        #expect(Dictionary(uniqueKeysWithValues: tallies.map { ($0.route, $0.tally) }) == model)
        #expect(tallies.count == model.count && tallies.isEmpty == model.isEmpty)
        #expect(tallies.total == model.values.reduce(.zero, +))
        for route in 0...4 as ClosedRange<RouteNumber> { #expect(tallies[route] == model[route]) }
        #expect((tallies.only != nil) == (model.count == 1))
    }

    @Test("Tallies with equal contents are equal, in any order of additions", arguments: Seeds.first(50))
    func equality(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let entries = (0..<6).map { _ in (RouteNumber.random(in: 0...2, using: &random), Tally.sample(&random)) }
        let (one, other) = (tallies(entries), tallies(entries.shuffled(using: &random)))
        #expect(one == other)
        let (route, tally) = entries[0]
        #expect(one != one + [route: Tally(events: 0, bytes: 1)])
        #expect(one != one + [9: tally])
        #expect(one != one - [route: one[route] ?? .zero])
    }

    @Test("Q8: missing events are computed per route", arguments: Seeds.first(50))
    func difference(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var (held, found, missed) = (RouteTallies(), RouteTallies(), RouteTallies())
        for _ in 0..<8 {
            let (route, tally) = (RouteNumber.random(in: 1...4, using: &random), Tally.sample(&random))
            held.add(tally, route: route)
            if random.oneIn(2) { found.add(tally, route: route) } else { missed.add(tally, route: route) }
        }
        #expect(held - found == missed && found + missed == held && held - held == [:])
        #expect(held.filter { $0 > 4 } == [:])
        #expect(held.filter { $0 > 2 } + held.filter { $0 <= 2 } == held)
    }

    private func tallies(_ entries: [(RouteNumber, Tally)]) -> RouteTallies {
        var tallies = RouteTallies()
        for (route, tally) in entries { tallies.add(tally, route: route) }
        return tallies
    }
}

extension Tally {
    fileprivate static func sample(_ random: inout SeededRandom) -> Tally {
        Tally(events: Int.random(in: 1...3, using: &random), bytes: Int.random(in: 1...9, using: &random))
    }
}
