import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("The rate limit of users")
struct UserRatesTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    private func rates(_ perSecond: Int, burst: Int) -> UserRates {
        var rates = UserRates()
        rates.rate = EventRate(perSecond: perSecond, burst: burst)
        return rates
    }

    @Test("Q4: a user may send a burst of events at once, and then events at the rate; other users are not affected")
    func bucket() {
        var rates = rates(10, burst: 5)
        #expect(rates.left(of: 7, at: start) == 5)
        rates.spend(5, of: 7, at: start)
        #expect(rates.left(of: 7, at: start) == 0 && rates.left(of: 8, at: start) == 5)
        #expect(rates.next(of: 7, at: start) == start + .milliseconds(100))
        #expect(rates.left(of: 7, at: start + .milliseconds(100)) == 1)
        #expect(rates.left(of: 7, at: start + .seconds(9)) == 5)
    }

    @Test("Q4: events that exceed the burst delay the user's next events")
    func debt() {
        var rates = rates(10, burst: 5)
        rates.spend(25, of: 7, at: start)
        #expect(rates.left(of: 7, at: start) == -20)
        #expect(rates.next(of: 7, at: start) == start + .milliseconds(2_100))
    }

    @Test("Q4: without `limits.rate` a user's rate is not limited")
    func off() {
        var rates = UserRates()
        rates.spend(1_000_000, of: 7, at: start)
        #expect(rates.left(of: 7, at: start) == .max)
    }

    @Test("Q4: a user above the rate waits until the rate allows more events; exactly one timer fires then")
    func turns() {
        let scheduler = ManualScheduler()
        let turns = UserTurns(scheduler: scheduler)
        turns.setRate(EventRate(perSecond: 10, burst: 5))
        turns.took(events: 6, of: 7)
        #expect(turns.isAboveRate(7) && !turns.isAboveRate(8))
        var served = 0
        turns.wait(7) { served += 1 }
        scheduler.advance(by: .milliseconds(199))
        #expect(served == 0)
        scheduler.advance(by: .milliseconds(1))
        #expect(served == 1 && turns.left(of: 7) == 1)
    }

    @Test("Q4: a higher rate applies to waiting sessions at once")
    func raised() {
        let scheduler = ManualScheduler()
        let turns = UserTurns(scheduler: scheduler)
        turns.setRate(EventRate(perSecond: 1, burst: 1))
        turns.took(events: 1_000, of: 7)
        var served = 0
        turns.wait(7) { served += 1 }
        scheduler.advance(by: .seconds(1))
        #expect(served == 0)
        turns.setRate(nil)
        scheduler.advance(by: .milliseconds(1))
        #expect(served == 1)
    }

    @Test("Q4: `limits.rate` requires `per_second`; the default burst is the events of one second")
    func setting() {
        func read(_ rate: DataItem) -> (EventRate?, [String]) {
            let read = Settings.read(["limits": ["rate": rate]])
            return (read.settings?.limits.rate, read.faults.map(\.path))
        }
        #expect(read(["per_second": 10]) == (EventRate(perSecond: 10, burst: 10), []))
        #expect(read(["per_second": 10, "burst": 3]) == (EventRate(perSecond: 10, burst: 3), []))
        #expect(read(["burst": 3]).1 == ["limits.rate.per_second"])
        #expect(read(["per_second": 0]).1 == ["limits.rate.per_second"])
        #expect(Settings.read([:]).settings?.limits.rate == nil)
    }

    @Test("Q4: above limits.rate the daemon pauses reading, shows the reason, and reads on later; no event is refused")
    func session() async throws {
        try await ServiceStage.run(["limits": ["rate": ["per_second": 10, "burst": 20]]], timeStands: true) { stage in
            let client = try await stage.client()
            var numbers: [Int] = []
            for _ in 1...25 { numbers.append(await client.request("track", ["event": "x"])) }
            for number in numbers.prefix(20) { _ = try await client.answer(to: number) }
            while try await !stage.inspect({ $0.sessions.all.contains { $0.stop?.reason == .rate } }) {}
            // There may be more pauses, because the loop may read the lines in several pieces.
            for number in numbers.suffix(5) {
                try await stage.advance(by: .milliseconds(100))
                _ = try await client.answer(to: number)
            }
            let paused = try await stage.inspect { $0.sessions.counters[.pausedReadings] }
            #expect(paused >= 1)
        }
    }
}
