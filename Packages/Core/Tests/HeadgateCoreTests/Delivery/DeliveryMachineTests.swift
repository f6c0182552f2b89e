import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("The state machine of a dispatcher")
struct DeliveryMachineTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func machine(
        events count: Int, _ change: (inout DispatcherSettings) -> Void = { _ in }
    ) throws -> DeliveryRun {
        var settings = DispatcherSettings(id: "collect")
        change(&settings)
        return try DeliveryRun(settings, events: count)
    }

    @Test("D1: an evaluation of an open dispatcher reads, builds and sends a batch, and publishes the depth")
    func evaluation() throws {
        var run = try machine(events: 3)
        let orders = run.evaluate(through: .max)
        #expect(orders.map(\.name) == ["publishDepth", "build", "send", "publishDepth", "publishDepth"])
        #expect(run.inFlight.values.map { $0.events.map(\.sequenceNumber) } == [[1, 2, 3]])
    }

    @Test("D13: a blocked dispatcher sends nothing, and its pending events are marked as held")
    func closed() throws {
        var run = try machine(events: 3)
        #expect(run.evaluate(through: nil).last == .noteHeld(1...3))
        #expect(run.inFlight.isEmpty)
    }

    @Test("F1: a flush sends the events that it covers")
    func flushed() throws {
        var run = try machine(events: 3) { $0.dispatchLimit = 1 }
        #expect(run.evaluate(through: 1).contains { $0.name == "send" })
        run.answer(1, .delivered)
        #expect(!run.evaluate(through: 1).contains { $0.name == "send" })
        #expect(run.ended == [1: .delivered])
    }

    @Test("D4, D8: a retried answer causes a random wait, with its cause")
    func retried() throws {
        var run = try machine(events: 1)
        _ = run.evaluate(through: .max)
        let orders = run.answer(1, .status(503), chance: 0.5)
        #expect(
            orders == [
                .countRetried(1), .wait(until: start + .milliseconds(250), cause: "HTTP 503"), .evaluateForMore,
            ])
        #expect(run.machine.attempts.lastFailure?.cause == "HTTP 503" && run.machine.counters[.failed] == 1)
        #expect(run.machine.pending(in: run.shelf) == 1)
    }

    @Test("D10: a dead letter is stored before its event is settled")
    func dead() throws {
        var run = try machine(events: 1)
        _ = run.evaluate(through: .max)
        #expect(run.answer(1, .status(400)).map(\.name) == ["keep", "settle", "evaluateForMore"])
        #expect(run.deadLetters.map(\.reason) == [.refusedStatus] && run.deadLetters.map(\.attempts) == [1])
    }

    @Test("D7, D11: a refusal blocks the dispatcher until its settings change, which do not end a stop")
    func held() throws {
        for isStopped in [false, true] {
            var run = try machine(events: 1)
            _ = run.evaluate(through: .max)
            #expect(run.answer(1, .status(401, .notAllowed)).contains(.hold(cause: "HTTP 401")))
            if isStopped { run.machine.stop() }
            let settings = run.machine.settings
            #expect(run.machine.change(to: settings, mostEvents: 25) == [.endHold, .evaluateAgain])
            #expect(run.machine.change(to: settings, mostEvents: 25) == [.evaluateAgain])
            #expect(run.machine.isStopping == isStopped)
        }
    }

    @Test("B23, D7: after an operator's pause a change of settings does not open the dispatcher")
    func heldAndPaused() throws {
        var run = try machine(events: 1)
        _ = run.evaluate(through: .max)
        run.answer(1, .status(403, .notAllowed))
        run.machine.holdReplaced()
        #expect(run.machine.change(to: run.machine.settings, mostEvents: 25) == [.evaluateAgain])
    }

    @Test("D7, D11: a refusal during a stop does not interrupt the stop, and blocks a restored dispatcher")
    func heldWhileStopping() throws {
        for isReplaced in [false, true] {
            var run = try machine(events: 2) { $0.dispatchLimit = 1 }
            _ = run.evaluate(through: .max)
            run.machine.stop()
            #expect(run.answer(1, .status(401, .notAllowed)).contains(.hold(cause: "HTTP 401")))
            if isReplaced { run.machine.holdReplaced() }
            #expect(run.machine.isStopping && !run.evaluate(through: .max).contains { $0.name == "send" })
            let orders = run.machine.change(to: run.machine.settings, mostEvents: 25)
            #expect(orders == (isReplaced ? [.evaluateAgain] : [.endHold, .evaluateAgain]))
        }
    }

    @Test("D1: a batch may get more events unless it is empty or full, or the dispatcher is stopping")
    func mayGetMore() throws {
        var run = try machine(events: 25)
        for (waiting, mayGetMore) in [(0, false), (1, true), (24, true), (25, false)] {
            run.shelf.show(waiting)
            #expect(run.machine.mayGetMore(in: run.shelf, for: SenderCapacity()) == mayGetMore)
        }
        run.shelf.show(5)
        #expect(!run.machine.mayGetMore(in: run.shelf, for: SenderCapacity(events: 5)))
        run.machine.stop()
        #expect(!run.machine.mayGetMore(in: run.shelf, for: SenderCapacity()))
    }

    @Test("D1, D6: after 413 a full batch has fewer events, and the halves are sent at once")
    func mayGetMoreAfterHalving() throws {
        var run = try machine(events: 25)
        _ = run.evaluate(through: .max)
        run.answer(1, .status(413))
        #expect(!run.machine.mayGetMore(in: run.shelf, for: SenderCapacity()))
        for number in 2...3 {
            _ = run.evaluate(through: .max)
            run.answer(number, .delivered)
        }
        #expect(run.ended.count == 25)
        let whole = try #require(
            (1..<25).first { waiting in
                run.shelf.unsettled = waiting
                return !run.machine.mayGetMore(in: run.shelf, for: SenderCapacity())
            })
        #expect(whole == 14)
    }

    @Test("D1, Q2: each of several batches in flight has as many events as allowed", arguments: 1...4)
    func severalBatches(inFlight: Int) throws {
        for limit in [1, 5, 12] {
            var run = try machine(events: 60) {
                $0.dispatchLimit = limit
                $0.inFlight = inFlight
            }
            _ = run.evaluate(through: .max)
            let batches = run.inFlight.values.map { $0.events.count }
            #expect(batches == Array(repeating: limit, count: inFlight))
            run.answer(1, .delivered)
            _ = run.evaluate(through: .max)
            #expect(run.inFlight[inFlight + 1]?.events.count == limit)
        }
    }

    @Test("D13: events in flight are not marked as held")
    func inFlightIsNotHeld() throws {
        var run = try machine(events: 7) {
            $0.dispatchLimit = 2
            $0.inFlight = 3
        }
        run.shelf.isInMemory = true
        _ = run.evaluate(through: .max)
        run.answer(1, .noAnswer(cause: "reset"))
        let marks = run.evaluate(through: nil).filter { $0.name == "noteHeld" }
        #expect(marks == [.noteHeld(1...2), .noteHeld(7...7)])
        run.answer(3, .noAnswer(cause: "reset"))
        #expect(run.evaluate(through: nil).filter { $0.name == "noteHeld" } == [.noteHeld(1...2), .noteHeld(5...7)])
    }

    @Test("D11: a stopping dispatcher sends nothing more")
    func stopped() throws {
        var run = try machine(events: 2) { $0.dispatchLimit = 1 }
        _ = run.evaluate(through: .max)
        run.machine.stop()
        run.answer(1, .delivered)
        #expect(!run.evaluate(through: .max).contains { $0.name == "send" })
    }

    @Test("A9: a 401 makes the board run again, and dead-letters events that had one before")
    func unauthorized() throws {
        var run = try machine(events: 1)
        run.machine.boardAdded(true)
        run.opening = BoardOpening(generation: 4, output: ["token": "x"])
        #expect(run.evaluate(through: nil).contains(.runBoard))
        _ = run.evaluate(through: .max)
        #expect(run.inFlight[1]?.output == ["token": "x"])
        #expect(run.answer(1, .status(401)) == [.renewBoard(sentUnder: 4), .evaluateForMore])
        _ = run.evaluate(through: .max)
        #expect(run.answer(2, .status(401)).map(\.name) == ["renewBoard", "keep", "settle", "evaluateForMore"])
    }

    @Test("Q6: events not in memory are requested once, and a failing store is asked again after a wait")
    func reading() throws {
        var run = try machine(events: 2)
        run.shelf.isInMemory = false
        run.readsAtOnce = false
        #expect(run.evaluate(through: .max).contains(.readStore(after: 0)))
        #expect(!run.evaluate(through: .max).contains { $0.name == "readStore" })
        let failed = run.machine.read(.failure(.failed("on fire")), at: run.moment(chance: 1))
        #expect(
            failed == [
                .wait(until: start + .milliseconds(500), cause: "event store: on fire"), .restFromReading,
            ])
        #expect(!run.evaluate(through: .max).contains { $0.name == "readStore" })
        #expect(run.machine.readingRested() == [.evaluateAgain])
        #expect(run.evaluate(through: .max).contains(.readStore(after: 0)))
        #expect(run.machine.read(.success(run.shelf.chunk), at: run.moment(chance: 1)) == [.evaluateAgain])
        #expect(run.evaluate(through: .max).contains { $0.name == "send" })
    }

    @Test("Q8: events that were counted but are missing are reported as lost")
    func lost() throws {
        var run = try machine(events: 2)
        run.shelf.unsettled = 5
        _ = run.evaluate(through: nil)
        #expect(run.evaluate(through: .max).contains { $0.name == "send" })
        #expect(run.lost == 3)
    }

    @Test(
        "D1 to D12, K3: in any history no event is in two batches, each ends once, and none is forgotten",
        arguments: Seeds.first(40))
    func anyHistory(seed: Seed) throws {
        var random = SeededRandom(seed: seed)
        var run = try machine(events: 60) {
            $0.dispatchLimit = Int.random(in: 1...8, using: &random)
            $0.inFlight = Int.random(in: 1...3, using: &random)
            $0.maxAttempts = Int.random(in: 2...4, using: &random)
        }
        run.shelf.show(0)
        for _ in 0..<300 {
            try run.step(&random)
            try run.check()
        }
        try run.finish()
        #expect(run.ended.count == 60 && run.shelf.unsettled == 0, "\(seed)")
    }
}
