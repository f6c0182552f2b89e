import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Queues of removed dispatchers")
struct OrphanTests {
    private func settings(_ id: String, formerly: String? = nil) -> DispatcherSettings {
        var settings = DispatcherSettings(id: id)
        settings.formerly = formerly
        return settings
    }

    @Test("Q3: the queue of a removed dispatcher is reported, with its age and expiry")
    func reported() throws {
        let bench = GateBench([settings("a"), settings("b")])
        bench.track(3)
        bench["a"].answer(.noAnswer(cause: "x"))
        bench.settle()
        #expect(bench.gate.dispatchers.orphanSummaries == [])
        bench.gate.removeDispatcher("a")
        bench.settle()
        let orphan = try #require(bench.gate.dispatchers.orphanSummaries.first)
        #expect(orphan.id == "a" && orphan.events == 3 && orphan.oldest != nil)
        #expect(orphan.until.milliseconds - bench.scheduler.wall.milliseconds == 7 * 86_400_000)
        var page: QueuePage?
        let isKnown = bench.gate.peek(at: "a", limit: 10) { page = try? $0.get() }
        bench.settle()
        #expect(isKnown && page?.events.count == 3)
        bench.advance(by: .seconds(60))
        let later = try #require(bench.gate.dispatchers.orphanSummaries.first)
        #expect(later.oldest == orphan.oldest.map { $0 + .seconds(60) } && later.until == orphan.until)
    }

    @Test("Q3: the queue of a removed dispatcher is reported while its last batch is in flight, too")
    func reportedInFlight() throws {
        let bench = GateBench([settings("a"), settings("b")])
        bench.track(3)
        bench.gate.removeDispatcher("a")
        bench.settle()
        let orphan = try #require(bench.gate.dispatchers.orphanSummaries.first)
        #expect(orphan.id == "a" && orphan.events == 3 && orphan.oldest == .zero)
        var page: QueuePage?
        #expect(bench.gate.peek(at: "a", limit: 10) { page = try? $0.get() })
        bench.settle()
        #expect(page != nil)
        bench["a"].answer()
        bench.settle()
        #expect(bench.gate.dispatchers.orphanSummaries == [])
    }

    @Test("Q3: a successor takes over the queue and sends it, unless it has its own queue")
    func takenOver() throws {
        let bench = GateBench([settings("a"), settings("b")])
        _ = bench.gate.pause("a", reason: nil, isFlushable: false) { _ in }
        bench.track(3)
        bench.gate.removeDispatcher("a")
        bench.settle()
        #expect(bench.gate.dispatchers.fault(takingOver: "a", by: "b") != nil)
        #expect(bench.gate.dispatchers.fault(takingOver: "a", by: "c") == nil)
        #expect(bench.gate.dispatchers.fault(takingOver: "nobody", by: "b") == nil)
        bench.add(settings("c", formerly: "a"))
        bench.settle()
        #expect(bench["c"].batches.flatMap(\.events).map(\.sequenceNumber) == [1, 2, 3])
        #expect(
            bench.gate.dispatchers.orphanSummaries == []
                && bench.summary(of: "c").pending + bench.summary(of: "c").inFlight == 3)
        // A new dispatcher under the old name starts with an empty queue.
        bench.add(settings("a"))
        bench.settle()
        #expect(bench["a"].batches.isEmpty && bench.summary(of: "a").pending == 0)
    }

    @Test("Q3: a queue with a batch in flight cannot be taken over")
    func inFlight() {
        let bench = GateBench([settings("a")])
        bench.track(1)
        #expect(bench.gate.dispatchers.fault(takingOver: "a", by: "c")?.contains("in flight") == true)
        bench["a"].answer()
        bench.settle()
        #expect(bench.gate.dispatchers.fault(takingOver: "a", by: "c") == nil)
    }
}
