import HeadgateCore
import HeadgateTransport

/// The network of this machine as the service follows it, by the settings in force (Behaviour B21).
final class MachineNetwork {
    private let scheduler: any Scheduler
    private let loop: EventLoop
    private let makeSocket: () -> (any NetlinkReading)?
    private let onChange: (NetworkState) -> Void
    private var monitor: NetworkMonitor?
    /// What people should know of it.
    private(set) var warnings: [String] = []

    /// - Parameters:
    ///   - makeSocket: gives what the kernel tells on; nil where it does not.
    ///   - onChange: told each new state.
    init(
        scheduler: any Scheduler, loop: EventLoop,
        makeSocket: @escaping () -> (any NetlinkReading)? = { NetlinkSocket() },
        onChange: @escaping (NetworkState) -> Void
    ) {
        self.scheduler = scheduler
        self.loop = loop
        self.makeSocket = makeSocket
        self.onChange = onChange
    }

    /// Follows it from now on as other settings say. Where the kernel does not tell, dispatchers are not held for it.
    func follow(_ settings: NetworkSettings, http: @autoclosure () -> HTTPClient?) {
        monitor = nil
        monitor = NetworkMonitor(
            settings, scheduler: scheduler, loop: loop, socket: makeSocket(), http: http(), onChange: onChange)
        warnings = monitor == nil ? ["the network cannot be watched here; it counts as connected"] : []
        if monitor == nil { onChange(.connected(.other)) }
    }

    func close() {
        monitor = nil
    }
}

/// Knows whether the machine is connected: from the kernel, and while that says no, from a probe if there is one
/// (Behaviour B21).
final class NetworkMonitor {
    private let probe: NetworkProbe?
    private let onChange: (NetworkState) -> Void
    private var watch: NetworkWatch?
    private var told = NetworkState.unknown

    /// A monitor that is told by hand what the kernel says.
    init(probe: NetworkProbe?, onChange: @escaping (NetworkState) -> Void) {
        self.probe = probe
        self.onChange = onChange
    }

    /// A monitor that watches.
    /// - Parameter onChange: told each new state, the first mostly before this returns.
    /// - Returns: nil where the kernel does not tell about the network.
    convenience init?(
        _ settings: NetworkSettings, scheduler: any Scheduler, loop: EventLoop, socket: (any NetlinkReading)?,
        http: @autoclosure () -> HTTPClient?, onChange: @escaping (NetworkState) -> Void
    ) {
        let probe = settings.probe.flatMap { probe in
            http().map { NetworkProbe(probe, scheduler: scheduler, http: $0) }
        }
        self.init(probe: probe, onChange: onChange)
        watch = NetworkWatch(
            on: loop, requiresDefaultRoute: settings.requiresDefaultRoute,
            kinds: InterfaceKinds(overrides: settings.interfaceKinds), socket: socket
        ) { [weak self] in self?.kernelTold($0) }
        if watch == nil { return nil }
    }

    /// Something happened: what the probe found before counts no more.
    func kernelTold(_ state: NetworkState) {
        tell(state)
        guard state == .disconnected else { return probe?.stop() ?? () }
        probe?.start { [weak self] in self?.tell(.connected(.other)) }
    }

    private func tell(_ state: NetworkState) {
        guard state != told else { return }
        told = state
        onChange(state)
    }
}

/// Asks a server from time to time until it answers, whatever it answers (Behaviour B21).
final class NetworkProbe {
    private let settings: NetworkSettings.Probe
    private let scheduler: any Scheduler
    private let http: HTTPClient
    private var onAnswer: (() -> Void)?
    private var alarm: (any Disposable)?
    private var transfer: HTTPTransfer?
    private var lastAsked: Instant?

    init(_ settings: NetworkSettings.Probe, scheduler: any Scheduler, http: HTTPClient) {
        self.settings = settings
        self.scheduler = scheduler
        self.http = http
    }

    deinit {
        stop()
    }

    /// Begins to ask: at once, but never sooner than an interval after it asked last, however often it begins.
    /// `onAnswer` is called at the first answer, after which it asks no more. One that is asking already goes on.
    func start(_ onAnswer: @escaping () -> Void) {
        guard self.onAnswer == nil else { return }
        self.onAnswer = onAnswer
        askWhenDue()
    }

    /// Asks no more.
    func stop() {
        onAnswer = nil
        alarm?.dispose()
        alarm = nil
        transfer.map(http.cancel)
        transfer = nil
    }

    private func askWhenDue() {
        guard let lastAsked, scheduler.now < lastAsked + settings.interval else { return ask() }
        alarm = scheduler.schedule(at: lastAsked + settings.interval) { [weak self] in
            self?.alarm = nil
            self?.ask()
        }
    }

    private func ask() {
        lastAsked = scheduler.now
        let target = HTTPRequest.Target(
            url: settings.url, method: .get, timeout: settings.timeout, connectTimeout: settings.timeout)
        transfer = http.send(HTTPRequest(target: target)) { [weak self] in self?.take($0) }
    }

    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        guard case .answered = outcome else { return askWhenDue() }
        let told = onAnswer
        stop()
        told?()
    }
}
