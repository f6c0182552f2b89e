import HeadgateTransport
import Testing

/// The work that a loop's thread does between two turns, and which thread owns the loop during that work.
@Suite(.timeLimit(.minutes(5))) struct LoopHelperTests {
    @Test(
        "Work between turns runs after the turn's end, and its results come before the next turn, output first"
    )
    func order() throws {
        var steps: [String] = []
        try onLoop { loop in
            let helper = Helper()
            helper.work = { steps.append("work") }
            helper.whenEnded = { inPlace in
                steps.append(inPlace ? "ended in place" : "ended")
                loop.atEndOfTurn(.dispatch) { steps.append("looked") }
                loop.atEndOfTurn(.write) {
                    steps.append("written")
                    loop.stop()
                }
            }
            loop.atEndOfTurn(.commit) {
                loop.betweenTurns(helper)
                loop.atEndOfTurn(.write) { steps.append("end of turn") }
            }
        }
        #expect(steps == ["end of turn", "work", "ended in place", "written", "looked"])
    }

    @Test("A helper without work is called again only when it requests that")
    func nothing() throws {
        let helper = Helper()
        try onLoop { loop in
            loop.betweenTurns(helper)
            loop.later(turns: 3) { loop.stop() }
        }
        #expect(helper.requested == 1)
    }

    @Test("A closed loop still runs requested work between turns")
    func closed() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        loop.stop()
        await loop.waitUntilClosed()
        let done = Guarded(false)
        loop.submit {
            let helper = Helper()
            helper.work = { done.withLock { $0 = true } }
            loop.betweenTurns(helper)
        }
        done.wait(until: { $0 })
    }

    @Test("A loop cannot be taken over during a turn")
    func notGone() throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let isRunning = Guarded(false)
        loop.submit { isRunning.withLock { $0 = true } }
        isRunning.wait(until: { $0 })
        try #require(!loop.takeOver(ifGoneFor: .zero))
        loop.stop()
    }

    @Test("A loop cannot be taken over before its thread was busy for the given time")
    func notLongEnough() throws {
        let (loop, helper, gone) = try goneLoop()
        try #require(!loop.takeOver(ifGoneFor: .seconds(3_600)))
        loop.stop()
        gone.withLock { $0 = .mayComeBack }
        helper.ended.wait(until: { $0 != nil })
        #expect(helper.ended.withLock { $0 } == true)
    }

    @Test("Another thread takes over a loop whose thread is busy, and the two threads swap roles")
    func exchangesRoles() throws {
        let (loop, helper, gone) = try goneLoop()
        // Without this takeover everything below would wait forever.
        try #require(loop.takeOver(ifGoneFor: .zero))
        try #require(loop.isCurrent)
        let ranHere = Guarded(false)
        loop.submit {
            ranHere.withLock { $0 = loop.isCurrent }
            gone.withLock { $0 = .mayComeBack }
        }
        helper.whenEnded = { _ in loop.stop() }
        loop.runTakenOver()
        #expect(ranHere.withLock { $0 })
        #expect(helper.ended.withLock { $0 } == false)
        helper.changed.wait(until: { $0 == 1 })
        #expect(loop.isClosed)
    }

    @Test("Two threads swap roles each time that one is busy for too long, and the owner of the loop ends it")
    func changesOften() throws {
        let (loop, helper, gone) = try goneLoop()
        // Without this takeover everything below would wait forever.
        try #require(loop.takeOver(ifGoneFor: .zero))
        let rounds = Guarded(0)
        // The thread that comes back takes the loop over when the other one leaves it in turn.
        helper.whenChanged = {
            guard rounds.withLock({ $0 }) < 3 else { return false }
            while !loop.takeOver(ifGoneFor: .zero) {}
            loop.submit {
                rounds.withLock { $0 += 1 }
                gone.withLock { $0 = .mayComeBack }
            }
            return true
        }
        helper.whenEnded = { _ in
            guard rounds.withLock({ $0 }) < 3 else { return loop.stop() }
            loop.betweenTurns(helper)
        }
        gone.withLock { $0 = .mayComeBack }
        loop.runTakenOver()
        waitUntilClosed(loop)
        #expect(rounds.withLock { $0 } == 3)
        #expect(helper.changed.withLock { $0 } == 4)
    }

    private func waitUntilClosed(_ loop: EventLoop) {
        while !loop.isClosed {}
    }

    /// The position of a thread that does work between two turns.
    private enum Whereabouts: Sendable {
        case inTheLoop
        case gone
        case mayComeBack
    }

    /// Creates a loop whose thread is busy between turns until it may return.
    private func goneLoop() throws -> (EventLoop, Helper, Guarded<Whereabouts>) {
        let loop = try EventLoop.onNewThread(named: "test")
        let helper = Helper()
        let whereabouts = Guarded(Whereabouts.inTheLoop)
        helper.work = {
            whereabouts.withLock { $0 = .gone }
            whereabouts.wait(until: { $0 == .mayComeBack })
        }
        loop.submit { loop.betweenTurns(helper) }
        whereabouts.wait(until: { $0 == .gone })
        return (loop, helper, whereabouts)
    }
}

// Unchecked: unguarded members are set before use, and then used only by the thread that owns the loop.
private final class Helper: LoopHelper, @unchecked Sendable {
    var work: (() -> Void)?
    var whenEnded: (Bool) -> Void = { _ in }
    var whenChanged: () -> Bool = { false }
    private(set) var requested = 0
    /// True if the loop's own thread finished the work before a takeover; nil while the work is unfinished.
    let ended = Guarded<Bool?>(nil)
    let changed = Guarded(0)

    func turnEnded() -> (() -> Void)? {
        requested += 1
        return work
    }

    func workEnded(inPlace: Bool) {
        ended.withLock { $0 = inPlace }
        whenEnded(inPlace)
    }

    func exchangeRoles() -> Bool {
        changed.withLock { $0 += 1 }
        return whenChanged()
    }
}
