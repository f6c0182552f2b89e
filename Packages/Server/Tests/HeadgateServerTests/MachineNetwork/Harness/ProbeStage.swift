import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import HeadgateTransport

@testable import HeadgateServer

/// A network monitor whose probe sends real requests, on a real loop. Time stands still until the test moves it, and
/// the test reports the kernel's state.
actor ProbeStage {
    /// An event that a test waits for.
    enum Event: Equatable {
        /// The monitor reported a new state.
        case state(NetworkState)
        /// The next request is due after this time.
        case waits(Duration)
    }

    nonisolated let events: AsyncStream<Event>
    private nonisolated let loop: EventLoop
    private let continuation: AsyncStream<Event>.Continuation
    private var clock: ManualScheduler?
    private var client: HTTPClient?
    private var monitor: NetworkMonitor?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Runs `body` with a probe that sends a request to `server` every 30 seconds.
    static func run(
        _ server: ScriptedServer, timeout: Duration = .seconds(30), _ body: (ProbeStage) async throws -> Void
    ) async throws {
        defer { server.stop() }
        let stage = try ProbeStage()
        await stage.open(NetworkSettings.Probe(url: server.url, timeout: timeout))
        do {
            try await body(stage)
        } catch {
            await stage.end()
            throw error
        }
        await stage.end()
    }

    private init() throws {
        loop = try EventLoop.onNewThread(named: "test-probe")
        (events, continuation) = AsyncStream.makeStream()
    }

    private func open(_ settings: NetworkSettings.Probe) {
        let clock = ManualScheduler()
        let client = HTTPClient(loop: loop, userAgent: "headgate/test")
        let scheduler = TimerReporter(clock) { [continuation] in continuation.yield(.waits($0)) }
        let probe = NetworkProbe(settings, scheduler: scheduler, http: client)
        monitor = NetworkMonitor(probe: probe) { [continuation] in continuation.yield(.state($0)) }
        self.clock = clock
        self.client = client
    }

    /// Reports a state to the monitor, as the kernel would.
    func kernelReports(_ state: NetworkState) {
        monitor?.kernelReported(state)
    }

    func advance(by duration: Duration) {
        clock?.advance(by: duration)
    }

    /// True if a request is due later.
    var isWaiting: Bool { clock?.nextDeadline != nil }

    /// Releases the monitor, as an orderly stop does.
    func forgetMonitor() {
        monitor = nil
    }

    private func end() async {
        monitor = nil
        client?.close()
        client = nil
        loop.stop()
        await loop.waitUntilClosed()
    }
}

/// A scheduler that reports for each timer the time until it is due.
private final class TimerReporter: Scheduler {
    private let clock: ManualScheduler
    private let report: (Duration) -> Void

    init(_ clock: ManualScheduler, report: @escaping (Duration) -> Void) {
        self.clock = clock
        self.report = report
    }

    var now: Instant { clock.now }
    var wall: Timestamp { clock.wall }
    var sinceBoot: Int64 { clock.sinceBoot }
    var boot: String { clock.boot }
    var isCurrent: Bool { clock.isCurrent }
    func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void) { clock.atEndOfTurn(phase, work) }
    func nextTurn(_ work: @escaping () -> Void) { clock.nextTurn(work) }
    func submit(_ work: @escaping @Sendable () -> Void) { clock.submit(work) }
    func preconditionOnScheduler() { clock.preconditionOnScheduler() }

    func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        defer { report(deadline - clock.now) }
        return clock.schedule(at: deadline, work)
    }
}
