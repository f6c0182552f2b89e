import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("RateBarrier")
struct RateBarrierTests {
    let bench = BarrierBench()

    private func barrier(_ configuration: DataObject) throws -> RateBarrier {
        try Barriers.rate().create(context: bench.context, configuration: configuration)
    }

    @Test("B27: the barrier closes without a whole token, and opens when one is available")
    func tokens() throws {
        let watch = BarrierWatch(try barrier(["per_second": 10, "burst": 3]))
        bench.queues.take(2)
        #expect(watch.state == .open)
        bench.queues.take(1)
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(99))
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
    }

    @Test("B27: an idle time refills at most burst tokens")
    func burst() throws {
        let watch = BarrierWatch(try barrier(["per_second": 10, "burst": 3]))
        bench.queues.take(3)
        bench.scheduler.advance(by: .seconds(3600))
        bench.queues.take(3)
        #expect(watch.state == .closed)
    }

    @Test("B27: a batch larger than the available tokens creates a debt, which must be refilled first")
    func debt() throws {
        let watch = BarrierWatch(try barrier(["per_second": 10, "burst": 3]))
        bench.queues.take(25)
        bench.scheduler.advance(by: .milliseconds(2299))
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
    }

    @Test("B27: the long-term rate is exact, even if it does not divide a second", arguments: [0.5, 3, 7, 1000])
    func longRun(rate: Double) throws {
        let watch = BarrierWatch(try barrier(["per_second": .number(DataNumber(rate)), "burst": 1]))
        var taken = 0
        for _ in 0..<50 {
            if watch.state == .closed, let next = bench.scheduler.nextDeadline {
                bench.scheduler.advance(by: next - bench.scheduler.now)
            }
            #expect(watch.state == .open)
            bench.queues.take(1)
            taken += 1
        }
        let seconds = Double((bench.scheduler.now - Instant(nanoseconds: 1_000_000_000)).wholeNanoseconds) / 1e9
        #expect(abs(seconds - Double(taken - 1) / rate) < 0.000_001)
    }

    @Test("B27: each dispatcher has its own bucket, and keeps it")
    func buckets() throws {
        let barrier = try barrier(["per_second": 1, "burst": 1])
        let archive = BarrierWatch(barrier, for: "archive")
        var collect: BarrierWatch? = BarrierWatch(barrier)
        bench.queues.take(1)
        #expect(collect?.state == .closed)
        #expect(archive.state == .open)
        collect = nil
        #expect(BarrierWatch(barrier).state == .closed)
    }

    @Test("B27: the barrier is not flushable by default")
    func flushability() throws {
        let barrier = try barrier(["per_second": 1])
        let watch = BarrierWatch(barrier)
        #expect(watch.isFlushable == false)
        try barrier.updateConfiguration(["per_second": 1, "flushable": true])
        #expect(watch.isFlushable == true)
    }

    @Test("B7: a new rate applies to an existing debt")
    func updates() throws {
        let barrier = try barrier(["per_second": 1, "burst": 1])
        let watch = BarrierWatch(barrier)
        bench.queues.take(100)
        try barrier.updateConfiguration(["per_second": 1000, "burst": 1])
        bench.scheduler.advance(by: .milliseconds(99))
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
        bench.queues.take(1)
        try barrier.updateConfiguration([:])
        #expect(watch.state == .open)
        bench.queues.take(1000)
        #expect(watch.state == .open)
    }

    @Test(
        "B27: the default burst is the rate of one second, at least one token",
        arguments: [(0.1, 1), (1, 1), (2.5, 3), (100, 100)])
    func defaultBurst(rate: Double, burst: Int) throws {
        #expect(try RateSettings(["per_second": .number(DataNumber(rate))]).burst == burst)
    }

    @Test(
        "B27: invalid settings are rejected",
        arguments: [
            (["per_second": 0], "per_second"), (["per_second": -1], "per_second"), (["per_second": "9"], "per_second"),
            (["per_second": 1e300], "per_second"), (["per_second": 1, "burst": 0], "burst"),
            (["per_second": 1, "burst": 1.5], "burst"), (["burst": 5], "per_second"),
        ] as [(DataObject, String)])
    func faults(configuration: DataObject, key: String) {
        let fault = #expect(throws: BarrierConfigurationFault.self) { try RateSettings(configuration) }
        #expect(fault?.key == key)
    }

    @Test("B27: tokens before a change are refilled at the old rate, and later ones at the new rate")
    func otherRate() throws {
        let barrier = try barrier(["per_second": 1, "burst": 1])
        let watch = BarrierWatch(barrier)
        bench.queues.take(10)
        bench.scheduler.advance(by: .seconds(4))
        // The bucket is six tokens short. At ten tokens a second the refill takes 600 ms.
        try barrier.updateConfiguration(["per_second": 10, "burst": 1])
        bench.scheduler.advance(by: .milliseconds(599))
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
        // The bucket is one token short. At one token in ten seconds the refill takes ten seconds.
        bench.queues.take(2)
        bench.scheduler.advance(by: .milliseconds(100))
        try barrier.updateConfiguration(["per_second": 0.1, "burst": 1])
        bench.scheduler.advance(by: .milliseconds(9999))
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
    }

    @Test("B27: a larger bucket keeps its deficit, and a smaller one holds less")
    func otherBurst() throws {
        let barrier = try barrier(["per_second": 1, "burst": 2])
        let watch = BarrierWatch(barrier)
        bench.queues.take(5)
        try barrier.updateConfiguration(["per_second": 1, "burst": 5])
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(999))
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
        try barrier.updateConfiguration(["per_second": 1, "burst": 1])
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .seconds(4))
        #expect(watch.state == .open)
    }

    @Test("B27: slow rates and large debts neither trap nor wrap")
    func extremes() throws {
        let watch = BarrierWatch(try barrier(["per_second": 0.00001, "burst": 1_000_000_000]))
        for _ in 0..<3 { bench.queues.take(1_000_000_000) }
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .seconds(86_400 * 365))
        #expect(watch.state == .closed)
    }

    @Test("B27: a dispatcher behind the barrier sends whole batches as its tokens allow")
    func inTheGate() throws {
        let bench = GateBench { $0.dispatchLimit = 2 }
        try bench.gate.barriers.configure(
            id: "slow", kind: "RateBarrier", scopes: nil, configuration: ["per_second": 2, "burst": 3])
        bench.sender.reply = { _ in .delivered }
        bench.track(9)
        #expect(bench.sender.delivered == [1, 2, 3, 4], "three tokens, and a debt of one")
        #expect(bench.barrier("slow")?.reason == "rate limit reached: 2 a second")
        bench.advance(by: .milliseconds(999))
        #expect(bench.sender.delivered.count == 4)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.delivered.count == 6)
        bench.advance(by: .seconds(60))
        #expect(bench.sender.delivered == Array(1...9))
    }
}
