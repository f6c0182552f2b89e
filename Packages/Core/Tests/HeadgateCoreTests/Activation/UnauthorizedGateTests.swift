import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("A board before a dispatcher whose destination answers 401")
struct UnauthorizedGateTests {
    private let boards = ScriptedBoards()

    private func bench(_ change: (inout DispatcherSettings) -> Void = { _ in }) -> GateBench {
        var settings = DispatcherSettings(id: "collect")
        settings.activationBarrier = DispatcherActivation(board: "login")
        change(&settings)
        let bench = GateBench([settings], environment: { [boards] in $0.boardActivator = boards })
        bench.settle()
        return bench
    }

    @Test("A9: 401 makes the board run again and the events are sent again, and a second 401 is handled as D3 says")
    func unauthorized() {
        let bench = bench()
        bench.track(2)
        boards.complete(["token": "old"])
        bench.settle()
        bench.sender.answer(.status(401))
        bench.settle()
        #expect(boards.requested.count == 2 && bench.sender.sent == [[1, 2]] && bench.summary().counters[.dead] == 0)
        boards.complete(["token": "new"])
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [1, 2]])
        #expect(bench.sender.batches.last?.output == ["token": "new"])
        bench.sender.answer(.status(401))
        bench.settle()
        #expect(bench.summary().counters[.dead] == 2 && bench.summary().pending == 0)
    }

    @Test("A9, D3: after the board is removed, a 401 to a batch sent under it is handled at once as D3 says")
    func boardIsGone() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        var settings = bench.dispatchers[0]
        settings.activationBarrier = nil
        bench.gate.changeDispatcher(settings, kind: "recording", sender: nil, reachesNetwork: false)
        bench.sender.answer(.status(401))
        bench.settle()
        #expect(bench.summary().counters[.dead] == 1 && boards.requested.count == 1)
    }

    @Test("A9: if the second delivery succeeds, nothing is lost and no attempt is charged")
    func renewed() {
        let bench = bench { $0.maxAttempts = 1 }
        bench.track(2)
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401))
        bench.settle()
        boards.complete()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(bench.summary().counters[.sent] == 2 && bench.summary().counters[.dead] == 0)
    }

    @Test("A9: events that were not in the first delivery get a second one of their own")
    func newcomers() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401))
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401))
        bench.settle()
        #expect(bench.summary().counters[.dead] == 1 && bench.summary().pending == 1)
        boards.complete()
        bench.settle()
        #expect(bench.sender.sent == [[1], [1, 2], [2]])
    }

    @Test("A9: after another answer a 401 counts as the first again")
    func inBetween() {
        let bench = bench { $0.backoffCap = .milliseconds(500) }
        bench.track(1)
        let others: [SendResult] = [
            .status(503), .noAnswer(cause: "reset"), .each([.retry(cause: "busy", charged: false)]),
        ]
        for answer in others.flatMap({ [.status(401), $0] }) + [.status(401)] {
            boards.complete()
            bench.advance(by: .milliseconds(500))
            bench.sender.answer(answer)
            bench.advance(by: .milliseconds(500))
        }
        boards.complete()
        bench.settle()
        #expect(bench.summary().counters[.dead] == 0)
        bench.sender.answer(.status(401))
        bench.settle()
        #expect(bench.summary().counters[.dead] == 1)
    }

    @Test("A9: several batches refused with 401 under one opening run the board once")
    func inFlight() {
        let bench = bench {
            $0.inFlight = 2
            $0.dispatchLimit = 1
        }
        bench.track(2)
        boards.complete()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        bench.sender.answer(.status(401))
        bench.settle()
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401), to: 2)
        bench.settle()
        #expect(boards.requested.count == 2 && bench.summary().counters[.dead] == 0)
        #expect(bench.sender.sent.sorted { $0[0] < $1[0] } == [[1], [1], [2], [2]])
    }

    @Test("A9, D7: with on_unauthorized pause the second 401 holds the dispatcher")
    func pauses() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401, .notAllowed))
        bench.settle()
        #expect(!bench.summary().blockedBy.contains("ManualBarrier:collect"))
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401, .notAllowed))
        bench.settle()
        #expect(bench.summary().blockedBy.contains("ManualBarrier:collect") && bench.summary().pending == 1)
    }

    @Test("A9, D2: an oversize event is not sent again after 401, and later events are unaffected")
    func oversize() {
        let bench = bench { $0.byteLimit = 10 }
        bench.track(2)
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(401))
        bench.settle()
        #expect(bench.summary().counters[.dead] == 1 && boards.requested.count == 2 && bench.sender.sent == [[1]])
        boards.complete()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
    }

    /// Tracks an event and answers every delivery attempt with 401.
    private func refuseForEver(_ bench: GateBench, _ meaning: SendResult.Refusal.Meaning = .never) {
        bench.track(1)
        while boards.inProgress > 0 {
            boards.complete()
            bench.settle()
            bench.sender.answer(.status(401, meaning))
            bench.advance(by: .seconds(1))
        }
    }

    @Test(
        "A9, D3: with retry_failed_requests false the events are still sent again once, then dead-lettered as retries_off"
    )
    func retriesOff() {
        let bench = bench { $0.retryFailedRequests = false }
        refuseForEver(bench)
        #expect(bench.sender.sent == [[1], [1]] && boards.requested.count == 2)
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.retriesOff])
    }

    @Test("A9, D3, D9: a retried 401 runs the board each time, and only the first is not charged")
    func retried() {
        let bench = bench {
            $0.maxAttempts = 3
            $0.backoffCap = .seconds(1)
        }
        refuseForEver(bench, .again)
        #expect(bench.sender.sent.count == 4 && boards.requested.count == 4)
        let deadLetters = bench.store.memory.deadLetters
        #expect(deadLetters.map(\.reason) == [.maxAttempts] && deadLetters.map(\.attempts) == [3])
    }

    @Test("A9, D3: after a final 401 the events are sent again once, then dead-lettered")
    func notRetried() {
        let bench = bench()
        refuseForEver(bench)
        #expect(bench.sender.sent == [[1], [1]] && boards.requested.count == 2)
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.refusedStatus])
    }

    @Test("A9: 403 is handled at once as D3 says, unlike 401")
    func forbidden() {
        let bench = bench()
        bench.track(1)
        boards.complete()
        bench.settle()
        bench.sender.answer(.status(403))
        bench.settle()
        #expect(bench.summary().counters[.dead] == 1 && boards.requested.count == 1)
    }
}
