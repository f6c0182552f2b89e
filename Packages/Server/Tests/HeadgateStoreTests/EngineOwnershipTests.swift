import Testing

@testable import HeadgateStore

/// Tests every interleaving of the facts of ``EngineOwnership``, which gives the engine to one thread at a time.
@Suite struct EngineOwnershipTests {
    @Test("Q5: in every interleaving one thread has the engine, and no job is lost or overtakes another")
    func interleavings() throws {
        var (seen, frontier): (Set<Workers>, [Workers]) = ([Workers()], [Workers()])
        while let state = frontier.popLast() {
            for fact in Fact.allCases {
                guard let next = state.after(fact), seen.insert(next).inserted else { continue }
                try #require(next.violation == nil, "\(next.violation ?? "") after \(fact) in \(state)")
                frontier.append(next)
                try #require(seen.count < 20_000, "the search finds ever more states")
            }
        }
        // The search has reached each state of the machine.
        #expect(Set(seen.map(\.ownership.owner)).count == 4)
        #expect(seen.contains { $0.hasTakenOver } && seen.contains { $0.ownership.hasJobsForLoop })
        for state in seen { try #require(state.finishes, "jobs wait forever in \(state)") }
    }

    @Test(
        "Q5: the store's thread watches the loop while the loop uses the engine, and sleeps after some idle intervals")
    func watches() {
        var ownership = EngineOwnership<Int>(mostIdleIntervals: 2)
        #expect(ownership.checked() == .carryOut([]))
        #expect(ownership.storeThreadEnded(hasBackgroundWork: false) { _ in true } == .sleep)
        #expect(ownership.turnOfLoop(1) == .init(carriesOut: true, wakesStoreThread: true))
        #expect(ownership.checked() == .watch)
        // The loop need not wake a thread that watches.
        #expect(ownership.turnOfLoop(2) == .init(carriesOut: true))
        #expect(ownership.checked() == .watch)
        #expect(ownership.checked() == .watch)
        #expect(ownership.checked() == .sleep)
        #expect(ownership.turnOfLoop(3) == .init(carriesOut: true, wakesStoreThread: true))
    }

    @Test("Q5: jobs that the loop's thread could not carry out are the first that the store's thread gets")
    func undone() {
        var ownership = EngineOwnership<Int>(mostIdleIntervals: 2)
        _ = ownership.checked()
        _ = ownership.storeThreadEnded(hasBackgroundWork: false) { _ in true }
        var (jobs, later) = ([1, 2], [3])
        _ = ownership.turnEnded(&jobs) { _ in true }
        // This request comes from another thread than the loop's.
        #expect(ownership.requested(&later) == .init())
        #expect(ownership.loopEnded(undone: &jobs, hasBackgroundWork: false) == .init(wakesStoreThread: true))
        #expect(ownership.checked() == .carryOut([1, 2, 3]))
    }
}

extension EngineOwnership<Int> {
    /// Lets the loop's thread carry out a job.
    fileprivate mutating func turnOfLoop(_ job: Int) -> LoopOrders {
        var jobs = [job]
        let orders = turnEnded(&jobs) { _ in true }
        jobs = []
        _ = loopEnded(undone: &jobs, hasBackgroundWork: false)
        return orders
    }
}

/// The facts that the workers of a store can report.
private enum Fact: CaseIterable {
    case requestForLoop, requestForStoreThread, requestFromElsewhere, requestClose
    case turnEndsForLoop, turnEndsForStoreThread
    case loopEnds, loopEndsUndone, loopEndsWithWork
    case takeOver, formerEnds, formerEndsUndone
    case storeThreadEnds, storeThreadEndsWithWork, storeThreadEndsLeavingJobs
    case storeThreadWakes, watchIntervalEnds, loopTakesCall

    /// True if the fact happens eventually without a new request.
    var isProgress: Bool {
        switch self {
        case .requestForLoop, .requestForStoreThread, .requestFromElsewhere, .requestClose, .watchIntervalEnds: false
        default: true
        }
    }

    /// True if the fact can follow itself without end.
    var isEndless: Bool { self == .storeThreadEndsWithWork }
}

/// A model of the two threads of ``StoreWorkers`` and their queues, which carry out the machine's orders. Jobs are
/// numbered from 1, in the order of their requests on the loop.
private struct Workers: Hashable {
    var ownership = EngineOwnership<Int>(mostIdleIntervals: 2)
    private var requested: [Int] = []
    private var isTurnAwaited = false
    /// The jobs of the loop's thread, or its former thread, while it has the engine.
    private var inPlace: [Int]?
    private(set) var hasTakenOver = false
    private var storeThread = StoreThread.working([])
    private var isWoken = false
    private var isLoopCalled = false
    private var done: [Int] = []
    private var last = 0
    private var isCloseRequested = false
    private var isElsewhereRequested = false

    private enum StoreThread: Hashable {
        case working([Int])
        case asleep, watching
        /// The thread has taken over the loop, and the loop's former thread has not yet become the store's thread.
        case absent
        case ended
    }

    private static let jobs = 3
    private static let elsewhere = 100
    private static let close = 99

    init() { perform(ownership.checked()) }

    // MARK: Facts

    /// Returns the state after a fact; nil if the fact cannot happen.
    func after(_ fact: Fact) -> Workers? {
        var next = self
        return next.take(fact) ? next : nil
    }

    private var isLoopFree: Bool { inPlace == nil || hasTakenOver }

    private mutating func take(_ fact: Fact) -> Bool {
        switch fact {
        case .requestForLoop: return request(isForLoop: true)
        case .requestForStoreThread: return request(isForLoop: false)
        case .requestFromElsewhere: return requestFromElsewhere()
        case .requestClose: return requestClose()
        case .turnEndsForLoop: return endTurn(isForLoop: true)
        case .turnEndsForStoreThread: return endTurn(isForLoop: false)
        case .loopEnds: return endInPlace(hasTakenOver: false)
        case .loopEndsUndone: return endInPlace(hasTakenOver: false, isUndone: true)
        case .loopEndsWithWork: return endInPlace(hasTakenOver: false, hasBackgroundWork: true)
        case .takeOver: return takeOver()
        case .formerEnds: return endInPlace(hasTakenOver: true)
        case .formerEndsUndone: return endInPlace(hasTakenOver: true, isUndone: true)
        case .storeThreadEnds: return endWork(hasBackgroundWork: false, isForLoop: false)
        case .storeThreadEndsWithWork: return endWork(hasBackgroundWork: true, isForLoop: false)
        case .storeThreadEndsLeavingJobs: return endWork(hasBackgroundWork: false, isForLoop: true)
        case .storeThreadWakes: return isWoken && check()
        case .watchIntervalEnds: return storeThread == .watching && check()
        case .loopTakesCall: return takeCall()
        }
    }

    private mutating func request(isForLoop: Bool) -> Bool {
        guard isLoopFree, last < Workers.jobs, !isCloseRequested else { return false }
        last += 1
        requested.append(last)
        if isForLoop { isTurnAwaited = true } else { perform(ownership.requested(&requested)) }
        return true
    }

    private mutating func requestFromElsewhere() -> Bool {
        guard !isElsewhereRequested, !isCloseRequested else { return false }
        isElsewhereRequested = true
        var jobs = [Workers.elsewhere]
        perform(ownership.requested(&jobs))
        return true
    }

    private mutating func requestClose() -> Bool {
        guard isLoopFree, !isCloseRequested else { return false }
        isCloseRequested = true
        requested.append(Workers.close)
        perform(ownership.requested(&requested))
        return true
    }

    private mutating func endTurn(isForLoop: Bool) -> Bool {
        guard isLoopFree, isTurnAwaited else { return false }
        isTurnAwaited = false
        // A close is never for the loop.
        perform(ownership.turnEnded(&requested) { isForLoop && !$0.contains(Workers.close) })
        return true
    }

    private mutating func endInPlace(hasTakenOver: Bool, isUndone: Bool = false, hasBackgroundWork: Bool = false)
        -> Bool
    {
        guard var jobs = inPlace, hasTakenOver == self.hasTakenOver else { return false }
        if !isUndone {
            done += jobs
            jobs = []
        }
        (inPlace, self.hasTakenOver) = (nil, false)
        if hasTakenOver {
            perform(ownership.rolesExchanged(undone: &jobs))
        } else {
            perform(ownership.loopEnded(undone: &jobs, hasBackgroundWork: hasBackgroundWork))
        }
        return true
    }

    private mutating func takeOver() -> Bool {
        guard storeThread == .watching, inPlace != nil, !hasTakenOver else { return false }
        (storeThread, hasTakenOver, isWoken) = (.absent, true, false)
        return true
    }

    private mutating func endWork(hasBackgroundWork: Bool, isForLoop: Bool) -> Bool {
        guard case .working(let jobs) = storeThread else { return false }
        done += jobs
        guard !jobs.contains(Workers.close) else {
            ownership.closed()
            storeThread = .ended
            return true
        }
        perform(
            ownership.storeThreadEnded(hasBackgroundWork: hasBackgroundWork) {
                isForLoop && !$0.contains(Workers.close)
            })
        return true
    }

    private mutating func check() -> Bool {
        guard storeThread == .asleep || storeThread == .watching else { return false }
        isWoken = false
        perform(ownership.checked())
        return true
    }

    private mutating func takeCall() -> Bool {
        guard isLoopFree, isLoopCalled else { return false }
        isLoopCalled = false
        if ownership.hasJobsForLoop { isTurnAwaited = true }
        return true
    }

    // MARK: Orders

    private mutating func perform(_ orders: EngineOwnership<Int>.LoopOrders) {
        if orders.wakesStoreThread { isWoken = true }
        guard orders.carriesOut else { return }
        inPlace = requested
        requested = []
    }

    private mutating func perform(_ order: EngineOwnership<Int>.StoreThreadOrder) {
        switch order {
        case .carryOut(let jobs): storeThread = .working(jobs)
        case .sleep: storeThread = .asleep
        case .watch: storeThread = .watching
        case .callLoop:
            isLoopCalled = true
            perform(ownership.checked())
        }
    }

    // MARK: Claims

    /// The claim that does not hold in this state, or nil if all hold.
    var violation: String? {
        var (working, users): ([Int], [EngineOwnership<Int>.Owner]) = ([], [])
        if let inPlace {
            working += inPlace
            users.append(.loop)
        }
        if case .working(let jobs) = storeThread {
            working += jobs
            users.append(.storeThread)
        }
        if users.count > 1 { return "two threads use the engine" }
        if let user = users.first, user != ownership.owner { return "\(user) uses the engine of \(ownership.owner)" }
        if inPlace != nil, !hasTakenOver, storeThread == .asleep, !isWoken { return "no thread watches the loop" }
        let jobs = done + working + ownership.waiting + requested
        let ordered = jobs.filter { $0 != Workers.elsewhere }
        let expected = Array(1..<last + 1) + (isCloseRequested ? [Workers.close] : [])
        if ordered != expected { return "the jobs are \(jobs)" }
        if jobs.contains(Workers.elsewhere) != isElsewhereRequested { return "a job of another thread is lost" }
        return nil
    }

    /// True if all requested jobs are carried out without further requests, with either order of the facts.
    var finishes: Bool {
        [Fact.allCases, Fact.allCases.reversed()].allSatisfy { order in
            var (state, steps) = (self, 0)
            while let next = state.next(of: order), steps < 200 { (state, steps) = (next, steps + 1) }
            return state.done.count == last + (isCloseRequested ? 1 : 0) + (isElsewhereRequested ? 1 : 0)
        }
    }

    /// Returns the state after the first fact that changes it without a request; nil if there is none.
    private func next(of facts: [Fact]) -> Workers? {
        for fact in facts where fact.isProgress && !fact.isEndless {
            if let next = after(fact), next != self { return next }
        }
        return nil
    }
}
