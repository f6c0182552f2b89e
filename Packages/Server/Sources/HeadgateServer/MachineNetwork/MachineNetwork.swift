import HeadgateCore
import HeadgateTransport

/// The watch of this machine's network, by the present settings (Behaviour B21).
final class MachineNetwork {
    private let scheduler: any Scheduler
    private let loop: EventLoop
    private let makeSocket: () -> (any NetlinkReading)?
    private let onChange: (NetworkState) -> Void
    private var monitor: NetworkMonitor?
    /// The warnings for `status`: one if the network cannot be watched, else none.
    private(set) var warnings: [String] = []

    /// Makes a watch that is not started.
    /// - Parameters:
    ///   - makeSocket: makes the netlink socket, or returns nil if the kernel has none.
    ///   - onChange: called with each new state.
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

    /// Starts or restarts the watch with other settings. Without a netlink socket the machine counts as connected, so
    /// that no dispatcher is blocked.
    func follow(_ settings: NetworkSettings, http: @autoclosure () -> HTTPClient?) {
        monitor = nil
        monitor = NetworkMonitor(
            settings, scheduler: scheduler, loop: loop, socket: makeSocket(), http: http(), onChange: onChange)
        warnings =
            monitor == nil ? ["the daemon cannot watch the network of this machine, and treats it as connected"] : []
        if monitor == nil { onChange(.connected(.other)) }
    }

    func close() {
        monitor = nil
    }
}

/// A monitor that reports whether the machine is connected, as the kernel says. While the kernel reports no connection,
/// a probe may find one (Behaviour B21).
final class NetworkMonitor {
    private let probe: NetworkProbe?
    private let onChange: (NetworkState) -> Void
    private var watch: NetworkWatch?
    private var reported = NetworkState.unknown

    /// Makes a monitor whose caller passes the kernel's reports to ``kernelReported(_:)``.
    init(probe: NetworkProbe?, onChange: @escaping (NetworkState) -> Void) {
        self.probe = probe
        self.onChange = onChange
    }

    /// Makes a monitor that reads the kernel's reports itself.
    /// - Parameter onChange: called with each new state; the first call usually comes before this returns.
    /// - Returns: nil if the kernel does not report on the network.
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
        ) { [weak self] in self?.kernelReported($0) }
        if watch == nil { return nil }
    }

    /// Takes a state from the kernel. It overrides an earlier result of the probe.
    func kernelReported(_ state: NetworkState) {
        report(state)
        guard state == .disconnected else { return probe?.stop() ?? () }
        probe?.start { [weak self] in self?.report(.connected(.other)) }
    }

    private func report(_ state: NetworkState) {
        guard state != reported else { return }
        reported = state
        onChange(state)
    }
}

/// A probe that sends a request to a server at intervals until any answer comes (Behaviour B21).
final class NetworkProbe {
    private let settings: NetworkSettings.Probe
    private let scheduler: any Scheduler
    private let http: HTTPClient
    private var onAnswer: (() -> Void)?
    private var timer: (any Disposable)?
    private var transfer: HTTPTransfer?
    private var lastRequest: Instant?

    init(_ settings: NetworkSettings.Probe, scheduler: any Scheduler, http: HTTPClient) {
        self.settings = settings
        self.scheduler = scheduler
        self.http = http
    }

    deinit {
        stop()
    }

    /// Starts the probe, unless it runs. The first request is sent at once, but not before an interval has passed since
    /// the last request. `onAnswer` is called at the first answer, which ends the probe.
    func start(_ onAnswer: @escaping () -> Void) {
        guard self.onAnswer == nil else { return }
        self.onAnswer = onAnswer
        askWhenDue()
    }

    /// Stops the probe.
    func stop() {
        onAnswer = nil
        timer?.dispose()
        timer = nil
        transfer.map(http.cancel)
        transfer = nil
    }

    private func askWhenDue() {
        guard let lastRequest, scheduler.now < lastRequest + settings.interval else { return ask() }
        timer = scheduler.schedule(at: lastRequest + settings.interval) { [weak self] in
            self?.timer = nil
            self?.ask()
        }
    }

    private func ask() {
        lastRequest = scheduler.now
        let target = HTTPRequest.Target(
            url: settings.url, method: .get, timeout: settings.timeout, connectTimeout: settings.timeout)
        transfer = http.send(HTTPRequest(target: target)) { [weak self] in self?.take($0) }
    }

    private func take(_ outcome: HTTPOutcome) {
        transfer = nil
        guard case .answered = outcome else { return askWhenDue() }
        let handler = onAnswer
        stop()
        handler?()
    }
}
