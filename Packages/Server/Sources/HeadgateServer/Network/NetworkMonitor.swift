import HeadgateCore

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
        _ settings: NetworkSettings, worker: LoopWorker, http: @autoclosure () -> HTTPClient,
        onChange: @escaping (NetworkState) -> Void
    ) {
        let probe = settings.probe.map { NetworkProbe($0, worker: worker, http: http()) }
        self.init(probe: probe, onChange: onChange)
        watch = NetworkWatch(
            on: worker.loop, requiresDefaultRoute: settings.requiresDefaultRoute,
            kinds: InterfaceKinds(overrides: settings.interfaceKinds)
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
