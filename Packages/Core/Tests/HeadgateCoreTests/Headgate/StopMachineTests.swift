import Testing

@testable import HeadgateCore

@Suite("Steps of an orderly stop")
struct StopMachineTests {
    /// A random run of a stop: flushes end or hang, senders answer or not, and the store closes or not.
    private struct Run {
        var random: SeededRandom
        var machine: StopMachine
        let start: Instant
        let timeout: Duration
        let isFlushing: Bool
        var now: Instant
        var inFlight: Int
        var reported: [StopMachine.Order] = []

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            start = Instant(nanoseconds: Int64.random(in: 0...1_000_000, using: &random))
            timeout = random.oneIn(5) ? .zero : .milliseconds(Int.random(in: 0...10_000, using: &random))
            isFlushing = random.oneIn(2)
            now = start
            inFlight = Int.random(in: 0...3, using: &random)
            let orders: [StopMachine.Order]
            (machine, orders) = StopMachine.begin(at: now, within: timeout, flushing: isFlushing)
            reported = orders
        }

        mutating func step() throws {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: take(machine.checked(isStuck: random.oneIn(3), inFlight: inFlight))
            case 1 where random.oneIn(3): take(machine.flushEnded())
            case 2 where inFlight > 0: inFlight -= 1
            case 3 where reported.contains(.closeStore) && random.oneIn(4): take(machine.storeClosed())
            case 4, 5:
                let next = now + .milliseconds(Int.random(in: 0...3000, using: &random))
                // The timer never fires late.
                now = machine.nextDeadline.map { min($0, next) } ?? next
                take(machine.timePassed(to: now, inFlight: inFlight))
            default: break
            }
        }

        private mutating func take(_ orders: [StopMachine.Order]) { reported += orders }

        /// Checks the orders of the run so far.
        func check() throws {
            let steps = reported.filter { $0 != .endFlush }
            let names = steps.map { order in
                switch order {
                case .flush: 0
                case .endFlush: -1
                case .takeNoMore: 1
                case .interrupt: 2
                case .closeStore: 3
                case .end: 4
                }
            }
            // Each order occurs at most once, in this sequence, and after the orders that it requires.
            try #require(zip(names, names.dropFirst()).allSatisfy { $0 < $1 }, "\(reported)")
            try #require(!names.contains(2) || names.contains(1))
            try #require(!names.contains(3) || names.contains(1))
            try #require(!names.contains(4) || names.contains(3))
            try #require(names.contains(0) == isFlushing)
            try #require((machine.outcome != nil) == names.contains(4))
            if let due = machine.nextDeadline { try #require(due <= start + timeout + .seconds(5)) }
            try #require(machine.nextDeadline != nil || machine.outcome != nil)
            if now < start + timeout { try #require(!names.contains(2)) }
        }
    }

    @Test("D11, F5: even if a flush, a sender or the store hangs, each step runs once, in order and in time")
    func model() throws {
        for seed: UInt64 in 1...500 {
            var run = Run(seed: seed)
            for _ in 0..<200 where run.machine.outcome == nil {
                try run.step()
                try run.check()
            }
            try #require(run.machine.outcome != nil, "seed \(seed)")
            try #require(run.now <= run.start + run.timeout + .seconds(5), "seed \(seed)")
            try #require(run.machine.timePassed(to: .init(nanoseconds: .max), inFlight: 0).isEmpty)
            try #require(run.machine.storeClosed().isEmpty && run.machine.flushEnded().isEmpty)
            try #require(run.machine.checked(isStuck: true, inFlight: 0).isEmpty)
        }
    }

    @Test("D11: the flush of a stop ends a fifth of the timeout before its end, but at most one second before")
    func flushEndsBefore() {
        let start = Instant(nanoseconds: 0)
        for (timeout, flushEnd) in [(Duration.seconds(1), Duration.milliseconds(800)), (.seconds(20), .seconds(19))] {
            var (stop, orders) = StopMachine.begin(at: start, within: timeout, flushing: true)
            #expect(orders == [.flush] && stop.nextDeadline == start + flushEnd)
            #expect(stop.timePassed(to: start + flushEnd, inFlight: 1) == [.endFlush, .takeNoMore])
            #expect(stop.nextDeadline == start + timeout)
            #expect(stop.checked(isStuck: false, inFlight: 0) == [.closeStore])
        }
    }

    @Test("D11: batches in flight are never interrupted early, and the interrupted ones are reported")
    func left() throws {
        let start = Instant(nanoseconds: 0)
        var (stop, orders) = StopMachine.begin(at: start, within: .seconds(2), flushing: false)
        #expect(orders == [.takeNoMore])
        #expect(stop.checked(isStuck: false, inFlight: 2).isEmpty)
        #expect(stop.timePassed(to: start + .seconds(2), inFlight: 2) == [.interrupt])
        #expect(stop.timePassed(to: start + .milliseconds(2999), inFlight: 2).isEmpty)
        #expect(stop.timePassed(to: start + .seconds(3), inFlight: 2) == [.closeStore])
        #expect(stop.storeClosed() == [.end(StopOutcome(batchesLeft: 2, isStoreClosed: true))])
        #expect(!StopOutcome(batchesLeft: 2, isStoreClosed: true).isComplete)
        #expect(!StopOutcome(batchesLeft: 0, isStoreClosed: false).isComplete)
        #expect(StopOutcome(batchesLeft: 0, isStoreClosed: true).isComplete)
    }
}
