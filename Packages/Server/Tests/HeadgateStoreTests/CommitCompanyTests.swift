import HeadgateSeeds
import Testing

@testable import HeadgateStore

/// Whether events wait for others before they are committed.
@Suite struct CommitCompanyTests {
    @Test(
        "Q5: clients that wait for their acknowledgements are committed together, however many they are",
        arguments: 2...9)
    func together(clients: Int) {
        var disk = Disk(clients: clients)
        disk.run(commits: 200)
        // One that is alone is looked after in each sixteenth commit only, so two take a while to find each other.
        let late = disk.groups.suffix(100)
        #expect(late.allSatisfy { $0 == clients }, "\(late)")
    }

    @Test("Q5: without company each commit has but a part of them, so that all wait for two")
    func apart() {
        var disk = Disk(clients: 4)
        disk.hasCompany = false
        disk.run(commits: 200)
        #expect(disk.groups.suffix(100).reduce(0, +) <= 200)
    }

    @Test("Q5: a client that is alone waits for nobody")
    func alone() {
        var disk = Disk(clients: 1)
        disk.run(commits: 1_000)
        #expect(disk.waited == .zero)
    }

    @Test("Q5: a disk that answers sooner than others could come is waited for at once")
    func quick() {
        var disk = Disk(clients: 4)
        disk.duration = .microseconds(20)
        disk.run(commits: 200)
        #expect(disk.waited == .zero)
    }

    @Test("Q5: those who are expected and do not come are expected in 1 commit of 65, for no longer than one takes")
    func misses() {
        var company = CommitCompany()
        var now = ContinuousClock.now
        var waits = 0
        for _ in 1...10_000 {
            company.committed(4, at: now, took: .microseconds(100))
            _ = company.waits(with: 0, at: now)
            let told = now
            now += .microseconds(10)
            let hasWaited = company.waits(with: 1, at: now)
            while company.waits(with: 1, at: now) { now += .microseconds(3) }
            waits += hasWaited ? 1 : 0
            #expect(told.duration(to: now) < .microseconds(104))
        }
        #expect((10_000 / 65 - 1...10_000 / 65 + 8).contains(waits), "\(waits)")
    }

    @Test("Q5: a clock that stands still ends a wait all the same")
    func stands() {
        var company = CommitCompany()
        let now = ContinuousClock.now
        company.committed(4, at: now, took: .microseconds(100))
        var looks = 0
        while company.waits(with: 1, at: now) { looks += 1 }
        #expect(looks == 100)
    }

    @Test("Q5: whatever comes, and whenever, nobody waits longer than a commit takes", arguments: Seeds.first(20))
    func bounds(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var company = CommitCompany()
        var (now, told, most) = (ContinuousClock.now, ContinuousClock.now, Duration.zero)
        for _ in 1...5_000 {
            now += .microseconds(Int.random(in: 0...(random.oneIn(10) ? 10_000 : 40), using: &random))
            if random.oneIn(3) {
                let events = Int.random(in: 0...5, using: &random)
                let duration = Int.random(in: 0...400, using: &random)
                company.committed(events, at: now, took: .microseconds(duration))
                // Changes alone are nothing that anybody waits for.
                if events > 0 { (told, most) = (now, .microseconds(duration)) }
            } else if company.waits(with: Int.random(in: 0...6, using: &random), at: now) {
                #expect(told.duration(to: now) < min(most, .microseconds(200)))
                #expect(most >= .microseconds(40))
            }
        }
    }
}

/// Clients that each send an event, and the next once that is acknowledged, and a loop that commits in place.
private struct Disk {
    var duration = Duration.microseconds(110)
    var hasCompany = true
    /// How many events each commit had.
    private(set) var groups: [Int] = []
    /// How long events waited for others, in all.
    private(set) var waited = Duration.zero
    private var company = CommitCompany()
    private var now = ContinuousClock.now
    /// When each client sends its next.
    private var arrivals: [ContinuousClock.Instant]

    init(clients: Int) {
        let start = ContinuousClock.now
        // They begin one after the other.
        arrivals = (0..<clients).map { start + .microseconds(60 * $0) }
    }

    mutating func run(commits: Int) {
        for _ in 1...commits { commit() }
    }

    private mutating func commit() {
        if company.wantsLook, hasCompany { _ = company.waits(with: here, at: now) }
        now = max(now, arrivals.min() ?? now)
        let start = now
        // Each look is a turn of the loop.
        while hasCompany, company.waits(with: here, at: now) { now += .microseconds(3) }
        waited += start.duration(to: now)
        let group = arrivals.indices.filter { arrivals[$0] <= now }
        groups.append(group.count)
        now += duration
        company.committed(group.count, at: now, took: duration)
        // They are told, wake up and send one after the other.
        for (place, client) in group.enumerated() { arrivals[client] = now + .microseconds(30 + 8 * place) }
    }

    private var here: Int { arrivals.count { $0 <= now } }
}
