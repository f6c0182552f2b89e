import HeadgateCore

/// The machine's interfaces, addresses and default routes, and so whether it is connected (Behaviour B20, B21). Pure.
struct NetworkTable {
    private var interfaces: [Int32: NetworkInterface] = [:]
    private var addresses: [Int32: Set<NetworkAddress>] = [:]
    private var routes: Set<NetworkRoute> = []
    /// Whether a connection needs a default route as well (`network.require_default_route`).
    var requiresDefaultRoute: Bool

    init(requiresDefaultRoute: Bool = false) {
        self.requiresDefaultRoute = requiresDefaultRoute
    }

    mutating func take(_ fact: NetworkFact) {
        switch fact {
        case .link(let index, let interface): interfaces[index] = interface
        case .linkGone(let index):
            interfaces[index] = nil
            addresses[index] = nil
            routes = routes.filter { $0.interface != index }
        case .address(let index, let address): addresses[index, default: []].insert(address)
        case .addressGone(let index, let address): addresses[index]?.remove(address)
        case .defaultRoute(let route): routes.insert(route)
        case .defaultRouteGone(let route): routes.remove(route)
        }
    }

    /// Connected: some interface but loopback is up with carrier and has an address of global scope. The kind is that of
    /// the interface with the default route, else of the first connected one.
    var state: NetworkState {
        let connected = interfaces.keys.filter(isConnected).sorted()
        let routed = bestRoute(over: connected)
        guard let interface = routed ?? (requiresDefaultRoute ? nil : connected.first) else { return .disconnected }
        return .connected(interfaces[interface]?.kind ?? .other)
    }

    private func isConnected(_ index: Int32) -> Bool {
        guard let interface = interfaces[index], !interface.isLoopback, interface.isRunning else { return false }
        return addresses[index]?.isEmpty == false
    }

    private func bestRoute(over connected: [Int32]) -> Int32? {
        routes.filter { connected.contains($0.interface) }
            .min { ($0.metric, $0.interface) < ($1.metric, $1.interface) }?
            .interface
    }
}
