import HeadgateCore
import HeadgateTransport

/// Knows whether the machine is connected: from the kernel, and while that says no, from a probe if there is one
/// (Behaviour B21).
final class NetworkMonitor {
    private let settings: NetworkSettings
    private let onChange: (NetworkState) -> Void
    private let probe: NetworkProbe?
    private var watch: NetworkWatch?
    private var told = NetworkState.unknown

    /// - Parameter onChange: told each new state.
    /// - Returns: nil where the kernel does not tell about the network.
    init?(
        _ settings: NetworkSettings, worker: LoopWorker, http: @autoclosure () -> HTTPClient,
        onChange: @escaping (NetworkState) -> Void
    ) {
        self.settings = settings
        self.onChange = onChange
        probe = settings.probe.map { NetworkProbe($0, worker: worker, http: http()) }
        watch = NetworkWatch(
            on: worker.loop, requiresDefaultRoute: settings.requiresDefaultRoute,
            kinds: InterfaceKinds(overrides: settings.interfaceKinds)
        ) { [weak self] in self?.kernelTold($0) }
        if watch == nil { return nil }
    }

    /// Something happened: what a probe found before counts no more.
    private func kernelTold(_ state: NetworkState) {
        probe?.stop()
        tell(state)
        guard state == .disconnected else { return }
        probe?.start { [weak self] in self?.tell(.connected(.other)) }
    }

    private func tell(_ state: NetworkState) {
        guard state != told else { return }
        told = state
        onChange(state)
    }
}
