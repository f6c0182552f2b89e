import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Reading ahead")
struct ReadAheadTests {
    private var readAhead = ReadAhead()
    private var queue = DispatcherQueue(number: 1, settled: Settled(through: 0))
    private var shelf: DeliveryRun.Shelf

    init() throws {
        shelf = try DeliveryRun(DispatcherSettings(id: "collect"), events: 4).shelf
    }

    private mutating func prepare(_ count: Int, bytes: Int = .max) -> (isReady: Bool, orders: [DeliveryOrder]) {
        readAhead.prepare(count, bytes: bytes, in: &queue, from: shelf)
    }

    @Test("Q6: reading buffers at most the requested events or bytes")
    mutating func expected() {
        #expect(prepare(2) == (true, []))
        #expect(queue.count == 2)
        #expect(prepare(4, bytes: queue.waitingBytes + 1) == (true, []))
        #expect(queue.count == 3)
        #expect(prepare(9) == (true, []))
        #expect(queue.count == 4)
    }

    @Test("Q6: events not in memory are requested once, from the position where reading continues")
    mutating func requested() {
        #expect(prepare(1) == (true, []))
        shelf.isInMemory = false
        #expect(prepare(3) == (false, [.readStore(after: 1)]))
        #expect(prepare(3) == (false, []))
        #expect(readAhead.answered(.success(shelf.stored(behind: 1)), into: &queue) == .read)
        #expect(prepare(3) == (false, [.readStore(after: 2)]))
        #expect(queue.count == 2)
    }

    @Test("Q8: events up to the newest at the time of the request that are missing count as lost")
    mutating func lost() {
        shelf.isInMemory = false
        shelf.show(3)
        #expect(prepare(1) == (false, [.readStore(after: 0)]))
        shelf.show(4)
        #expect(readAhead.answered(.success(nil), into: &queue) == .read)
        #expect(queue.readPosition == 3)
        shelf.isInMemory = true
        #expect(prepare(2) == (true, [.countLost(3)]))
        #expect(queue.entries.map(\.sequenceNumber) == [4])
    }

    @Test("Q8: after a failed read the store is asked again only after a wait")
    mutating func failed() {
        shelf.isInMemory = false
        #expect(prepare(1) == (false, [.readStore(after: 0)]))
        #expect(readAhead.answered(.failure(.failed("on fire")), into: &queue) == .failed(.failed("on fire")))
        #expect(prepare(1) == (false, []))
        readAhead.rested()
        #expect(prepare(1) == (false, [.readStore(after: 0)]))
    }

    @Test("Q2: an unexpected answer of the store has no effect")
    mutating func unrequested() {
        #expect(readAhead.answered(.success(shelf.stored(behind: 2)), into: &queue) == .unrequested)
        #expect(readAhead.answered(.failure(.failed("late")), into: &queue) == .unrequested)
        #expect(prepare(9) == (true, []))
        #expect(queue.count == 4)
    }
}
