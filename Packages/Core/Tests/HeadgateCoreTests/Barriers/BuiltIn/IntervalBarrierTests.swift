import HeadgateCore
import HeadgateData
import Testing

@Suite("IntervalBarrier")
struct IntervalBarrierTests {
    let bench = BarrierBench()

    private func barrier(_ configuration: DataObject) throws -> IntervalBarrier {
        try Barriers.interval().create(context: bench.context, configuration: configuration)
    }

    @Test("B25: the barrier opens for open_ms every interval_ms, first after one interval")
    func cycle() throws {
        let watch = BarrierWatch(try barrier(["interval_ms": 100, "open_ms": 30]))
        var openings: [Int] = []
        for moment in 1...330 {
            bench.scheduler.advance(by: .milliseconds(1))
            if watch.state == .open { openings.append(moment) }
        }
        #expect(openings == Array(100..<130) + Array(200..<230) + Array(300..<330))
    }

    @Test("B25: the barrier is flushable, and stays open for one second by default")
    func defaults() throws {
        let watch = BarrierWatch(try barrier(["interval_ms": 5000]))
        #expect(watch.isFlushable == true)
        bench.scheduler.advance(by: .milliseconds(5999))
        #expect(watch.state == .open)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .closed)
    }

    @Test("P7: a jump of the wall clock changes nothing")
    func wallClock() throws {
        let watch = BarrierWatch(try barrier(["interval_ms": 100, "open_ms": 30]))
        bench.setWall("2040-01-01T00:00:00Z")
        bench.scheduler.advance(by: .milliseconds(99))
        #expect(watch.state == .closed)
        bench.setWall("2001-01-01T00:00:00Z")
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
    }

    @Test("B7: frequent changes of its settings do not keep the barrier closed")
    func updates() throws {
        let barrier = try barrier(["interval_ms": 100, "open_ms": 30])
        let watch = BarrierWatch(barrier)
        for step in 1...20 {
            bench.scheduler.advance(by: .milliseconds(15))
            try barrier.updateConfiguration(["interval_ms": 100, "open_ms": .number(DataNumber(30 + step % 2))])
        }
        #expect(watch.states == [.closed, .open, .closed, .open, .closed, .open])
    }

    @Test("B7: without a configuration the barrier is open")
    func empty() throws {
        #expect(BarrierWatch(try barrier([:])).state == .open)
    }

    @Test(
        "B25: invalid settings are rejected",
        arguments: [
            (["interval_ms": 0], "interval_ms"), (["interval_ms": "1"], "interval_ms"),
            (["open_ms": 5], "interval_ms"), (["interval_ms": 1000], "interval_ms"),
            (["interval_ms": 100, "open_ms": 100], "interval_ms"), (["interval_ms": 100, "open_ms": -1], "open_ms"),
        ] as [(DataObject, String)])
    func faults(configuration: DataObject, key: String) {
        let fault = #expect(throws: BarrierConfigurationFault.self) { try barrier(configuration) }
        #expect(fault?.key == key)
    }
}
