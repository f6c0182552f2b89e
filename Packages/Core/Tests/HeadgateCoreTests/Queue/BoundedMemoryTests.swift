import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Bounds of memory")
struct BoundedMemoryTests {
    @Test("Q6: a dispatcher buffers a few batches, with any number of pending events")
    func entriesAreBounded() throws {
        let bench = GateBench { $0.dispatchLimit = 10 }
        for _ in 0..<100 { bench.track(20) }
        let dispatcher = try #require(bench.gate.dispatchers["collect"])
        #expect(dispatcher.pending == 1990)
        #expect(dispatcher.queue.entries.count <= 20)
        bench.sender.answer()
        bench.settle()
        bench.sender.answer(.status(503))
        bench.settle()
        #expect(dispatcher.queue.entries.count <= 20)
        #expect(dispatcher.queue.entries.map(\.sequenceNumber) == Array(11...21))
    }

    @Test("Q6: a dispatcher buffers large events up to the size of its batches and some MiB")
    func largeEntriesAreBounded() throws {
        let bench = GateBench { ($0.dispatchLimit, $0.byteLimit, $0.inFlight) = (1_000, 100_000, 2) }
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 90_000))"}"#)
        for _ in 0..<20 { bench.track(10, large) }
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        let dispatcher = try #require(bench.gate.dispatchers["collect"])
        let buffered = { dispatcher.queue.entries.reduce(0) { $0 + $1.event.byteCount } }
        #expect(bench.sender.sent == [[1], [2]])
        #expect(4 << 20...5 << 20 ~= buffered())
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [3]])
        #expect(4 << 20...5 << 20 ~= buffered())
    }

    @Test("Q6: the newest events are kept in memory up to a bound, and no event after the last chunk is missed")
    func recentIsBounded() {
        var recent = RecentChunks(mostBytes: 1000, lastSequenceNumber: 0)
        for number in 1...10 {
            recent.append(Chunk(bytes: Array(repeating: 0, count: 172), lastSequenceNumber: SequenceNumber(number)))
        }
        #expect(recent.chunk(after: 6) == nil)
        #expect((7...9).map { recent.chunk(after: $0)?.lastSequenceNumber } == [8, 9, 10])
        #expect(recent.chunk(after: 10) == nil)
        recent.trim(through: 9)
        #expect(recent.chunk(after: 8) == nil)
        #expect(recent.chunk(after: 9)?.lastSequenceNumber == 10)
    }

    @Test("Q6: the bound holds for any number of events over time")
    func recentStaysBounded() {
        var recent = RecentChunks(mostBytes: 1000, lastSequenceNumber: 0)
        for number in 1...500 as ClosedRange<SequenceNumber> {
            recent.append(Chunk(bytes: Array(repeating: 0, count: 172), lastSequenceNumber: number))
            if number.isMultiple(of: 7) { recent.trim(through: number - 1) }
            #expect(recent.chunk(after: number - 1)?.lastSequenceNumber == number)
            #expect(recent.chunk(after: number - 4) == nil)
            #expect(recent.chunk(after: number) == nil)
        }
    }

    @Test("Q6: reserved memory counts towards the bound, even if unused")
    func recentCountsRoom() {
        var recent = RecentChunks(mostBytes: 1000, lastSequenceNumber: 0)
        for number in 1...2 as ClosedRange<SequenceNumber> {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(600)
            bytes.append(0)
            recent.append(Chunk(bytes: bytes, lastSequenceNumber: number))
        }
        #expect(recent.chunk(after: 0) == nil)
        #expect(recent.chunk(after: 1)?.lastSequenceNumber == 2)
    }

    @Test("Q6: events that no longer fit in memory are read from the store")
    func readsFromStore() {
        let bench = GateBench(reply: { _ in .delivered })
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 20_000))"}"#)
        for _ in 0..<30 { bench.track(20, large) }
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        #expect(bench.sender.delivered == Array(1...600))
        #expect(bench.store.readCount > 0)
    }

    @Test("Q6: an append does not evaluate dispatchers that the event does not go to")
    func othersAreLeftAlone() throws {
        let ids = (0..<50).map { "d\($0)" }
        let bench = GateBench(ids.map(DispatcherSettings.init(id:)))
        let readBefore = bench.store.readCount
        bench.track(5, EventDraft(dispatchers: ["d7"]))
        #expect(bench["d7"].sent == [[1, 2, 3, 4, 5]])
        for id in ids where id != "d7" {
            let queue = try #require(bench.gate.dispatchers[id]).queue
            #expect(queue.readPosition == 0)
            #expect(queue.entries.isEmpty)
        }
        #expect(bench.store.readCount == readBefore)
    }

    @Test("Q6: a dispatcher with rare events reads them from memory, even behind many events of other dispatchers")
    func seldomRouted() {
        let bench = GateBench(["busy", "idle"].map(DispatcherSettings.init(id:)), reply: { _ in .delivered })
        bench.track(1, EventDraft(dispatchers: ["idle"]))
        for _ in 0..<50 { bench.track(1, EventDraft(dispatchers: ["busy"])) }
        bench.track(1, EventDraft(dispatchers: ["idle"]))
        #expect(bench["idle"].delivered == [1, 52])
        #expect(bench.store.readCount == 0)
    }

    @Test("Q6: each dispatcher reads its own events, with any events of other dispatchers between them")
    func manyRoutes() {
        let bench = GateBench(["a", "b", "c"].map(DispatcherSettings.init(id:)), reply: { _ in .delivered })
        for number in 0..<60 {
            bench.track(1, EventDraft(dispatchers: [["a"], ["b"], ["a", "b"], ["c"]][number % 4]))
        }
        #expect(bench["a"].delivered == (1...60).filter { $0 % 4 == 1 || $0 % 4 == 3 })
        #expect(bench["b"].delivered == (1...60).filter { $0 % 4 == 2 || $0 % 4 == 3 })
        #expect(bench["c"].delivered == (1...60).filter { $0 % 4 == 0 })
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q6: a group is bounded, and clients wait when it is full")
    func groupIsBounded() {
        let bench = GateBench()
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 100_000))"}"#)
        // The first event goes to the store at once, then 36 more in groups of 512 KiB. One more such group would
        // exceed the bound of 4 MiB in flight.
        for _ in 0..<37 + 5 { bench.track(large) }
        #expect(!bench.gate.events.isGroupFull)
        bench.track(large)
        #expect(bench.gate.events.isGroupFull)
        bench.settle()
        #expect(!bench.gate.events.isGroupFull)
    }

    @Test("X3: of the clients waiting for room in a group as many continue as there is room for, in order of arrival")
    func sendersContinue() {
        let bench = GateBench()
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 100_000))"}"#)
        while !bench.gate.events.isGroupFull { bench.track(large) }
        var went: [Int] = []
        for sender in 0..<200 {
            bench.gate.events.whenRoom {
                #expect(!bench.gate.events.isGroupFull)
                went.append(sender)
                bench.track(large)
            }
        }
        #expect(went.isEmpty)
        bench.settle()
        #expect(went == Array(0..<200))
    }
}
