import HeadgateSeeds
import Testing

@testable import HeadgateStore

/// Tests when events wait for other events before they are committed.
@Suite struct GroupCommitDelayTests {
    @Test(
        "Q5: clients that wait for their acknowledgements are committed together, however many they are",
        arguments: 2...9)
    func together(clients: Int) {
        var disk = Disk(clients: clients)
        disk.run(commits: 200)
        // A lone client is delayed in one commit of 16 only, so that two clients need a while to be committed together.
        let late = disk.groups.suffix(100)
        #expect(late.allSatisfy { $0 == clients }, "\(late)")
    }

    @Test("Q5: without the delay each client waits for two commits")
    func apart() {
        var disk = Disk(clients: 4)
        disk.hasDelay = false
        disk.run(commits: 200)
        #expect(disk.groups.suffix(100).reduce(0, +) <= 200)
    }

    @Test("Q5: a lone client does not wait")
    func alone() {
        var disk = Disk(clients: 1)
        disk.run(commits: 1_000)
        #expect(disk.waited == .zero)
    }

    @Test("Q5: no event waits if the disk answers sooner than other clients can send")
    func quick() {
        var disk = Disk(clients: 4)
        disk.duration = .microseconds(20)
        disk.run(commits: 200)
        #expect(disk.waited == .zero)
    }

    @Test("Q5: of 65 commits at most one waits for events that do not come, and no longer than a commit takes")
    func misses() {
        var delay = GroupCommitDelay()
        var now = ContinuousClock.now
        var waits = 0
        for _ in 1...10_000 {
            delay.committed(4, at: now, took: .microseconds(100))
            _ = delay.delays(0, at: now)
            let reported = now
            now += .microseconds(10)
            let hasWaited = delay.delays(1, at: now)
            while delay.delays(1, at: now) { now += .microseconds(3) }
            waits += hasWaited ? 1 : 0
            #expect(reported.duration(to: now) < .microseconds(104))
        }
        #expect((10_000 / 65 - 1...10_000 / 65 + 8).contains(waits), "\(waits)")
    }

    @Test("Q5: a wait ends even if the clock stands still")
    func stands() {
        var delay = GroupCommitDelay()
        let now = ContinuousClock.now
        delay.committed(4, at: now, took: .microseconds(100))
        var turns = 0
        while delay.delays(1, at: now) { turns += 1 }
        #expect(turns == 100)
    }

    @Test("Q5: no event waits longer than a commit takes, whatever arrives", arguments: Seeds.first(20))
    func bounds(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var delay = GroupCommitDelay()
        var (now, reported, most) = (ContinuousClock.now, ContinuousClock.now, Duration.zero)
        for _ in 1...5_000 {
            now += .microseconds(Int.random(in: 0...(random.oneIn(10) ? 10_000 : 40), using: &random))
            if random.oneIn(3) {
                let events = Int.random(in: 0...5, using: &random)
                let duration = Int.random(in: 0...400, using: &random)
                delay.committed(events, at: now, took: .microseconds(duration))
                // No client waits for changes alone.
                if events > 0 { (reported, most) = (now, .microseconds(duration)) }
            } else if delay.delays(Int.random(in: 0...6, using: &random), at: now) {
                #expect(reported.duration(to: now) < min(most, .microseconds(200)))
                #expect(most >= .microseconds(40))
            }
        }
    }
}

/// A simulation of clients and a loop that commits in place. Each client sends its next event after an acknowledgement.
private struct Disk {
    var duration = Duration.microseconds(110)
    var hasDelay = true
    /// The number of events in each commit.
    private(set) var groups: [Int] = []
    /// The total time for which events waited for others.
    private(set) var waited = Duration.zero
    private var delay = GroupCommitDelay()
    private var now = ContinuousClock.now
    /// The time of each client's next event.
    private var arrivals: [ContinuousClock.Instant]

    init(clients: Int) {
        let start = ContinuousClock.now
        // The clients start 60 µs apart.
        arrivals = (0..<clients).map { start + .microseconds(60 * $0) }
    }

    mutating func run(commits: Int) {
        for _ in 1...commits { commit() }
    }

    private mutating func commit() {
        if delay.wantsTurn, hasDelay { _ = delay.delays(here, at: now) }
        now = max(now, arrivals.min() ?? now)
        let start = now
        // Each call is at the end of a turn of the loop.
        while hasDelay, delay.delays(here, at: now) { now += .microseconds(3) }
        waited += start.duration(to: now)
        let group = arrivals.indices.filter { arrivals[$0] <= now }
        groups.append(group.count)
        now += duration
        delay.committed(group.count, at: now, took: duration)
        // The clients get their acknowledgements, wake up and send one after the other.
        for (index, client) in group.enumerated() { arrivals[client] = now + .microseconds(30 + 8 * index) }
    }

    private var here: Int { arrivals.count { $0 <= now } }
}
