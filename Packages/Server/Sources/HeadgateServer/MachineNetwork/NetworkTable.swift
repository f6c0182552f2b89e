import Glibc
import HeadgateCore

/// The machine's interfaces, addresses and default routes, and the connection state that follows from them (Behaviour
/// B20, B21). A pure value.
struct NetworkTable: Equatable {
    private var interfaces: [Int32: NetworkInterface] = [:]
    private var addresses: [Int32: Set<NetworkAddress>] = [:]
    private var routes: Set<NetworkRoute> = []
    /// A Boolean value that says whether the list of routes may be out of date. The kernel drops IPv4 routes without a
    /// message when an interface is switched off or an address is removed. It does not always say which route was
    /// replaced.
    private(set) var doubtsRoutes = false
    /// A Boolean value that says whether a connection also needs a default route (`network.require_default_route`).
    let requiresDefaultRoute: Bool

    init(requiresDefaultRoute: Bool = false) {
        self.requiresDefaultRoute = requiresDefaultRoute
    }

    mutating func take(_ fact: NetworkFact) {
        switch fact {
        case .link(let index, let interface):
            let before = interfaces.updateValue(interface, forKey: index)
            if let before, before.isUp != interface.isUp { doubtRoutes() }
        case .linkGone(let index):
            interfaces[index] = nil
            addresses[index] = nil
            doubtRoutes()
        case .address(let index, let address): addresses[index, default: []].insert(address)
        case .addressGone(let index, let address):
            addresses[index]?.remove(address)
            if address.family == UInt8(AF_INET) { doubtRoutes() }
        case .defaultRoute(let route): routes.insert(route)
        case .defaultRoutesChanged: doubtRoutes()
        }
    }

    /// Clears one list before the kernel sends it again.
    mutating func forget(_ list: NetworkList) {
        switch list {
        case .links: interfaces = [:]
        case .addresses: addresses = [:]
        case .routes:
            routes = []
            doubtsRoutes = false
        }
    }

    /// Marks the routes as doubtful, unless there are none.
    private mutating func doubtRoutes() {
        doubtsRoutes = !routes.isEmpty
    }

    // MARK: Connection state

    /// The connection state. The machine is connected if an interface other than loopback is up, with carrier and with
    /// an address of global scope. The kind is that of the interface with the default route, else of the first
    /// connected one.
    var state: NetworkState {
        let connected = interfaces.keys.filter(isConnected).sorted()
        let first = requiresDefaultRoute ? nil : connected.first
        guard let index = interfaceWithDefaultRoute(among: connected) ?? first, let interface = interfaces[index] else {
            return .disconnected
        }
        return .connected(interface.kind)
    }

    private func isConnected(_ index: Int32) -> Bool {
        guard let interface = interfaces[index], !interface.isLoopback, interface.isRunning else { return false }
        return addresses[index]?.isEmpty == false
    }

    /// Returns the interface of the best default route. Routes of the main table come first, because a policy may use
    /// other tables for a few packets only.
    private func interfaceWithDefaultRoute(among connected: [Int32]) -> Int32? {
        let usable = routes.filter { connected.contains($0.interface) }
        let best = usable.min {
            ($0.isMain ? 0 : 1, $0.metric, $0.interface) < ($1.isMain ? 0 : 1, $1.metric, $1.interface)
        }
        return best?.interface
    }
}

/// A fact about links, addresses or routes that the kernel reports (rtnetlink(7)).
enum NetworkFact: Equatable {
    case link(index: Int32, NetworkInterface)
    case linkGone(index: Int32)
    case address(index: Int32, NetworkAddress)
    case addressGone(index: Int32, NetworkAddress)
    case defaultRoute(NetworkRoute)
    /// A default route was removed or replaced. The kernel does not always say which one, so the list has to be
    /// requested again.
    case defaultRoutesChanged
}

/// The properties of a network interface that decide whether the machine is connected.
struct NetworkInterface: Equatable {
    var name: String
    var isLoopback: Bool
    /// A Boolean value that says whether the interface is switched on.
    var isUp: Bool
    var hasCarrier: Bool
    var kind: ConnectionKind

    var isRunning: Bool { isUp && hasCarrier }
}

/// An address of global scope, in the kernel's form.
struct NetworkAddress: Hashable {
    /// `AF_INET` or `AF_INET6`.
    var family: UInt8
    var bytes: [UInt8]
    var prefixLength: UInt8
}

/// A default route over an interface.
struct NetworkRoute: Hashable {
    var interface: Int32
    /// A Boolean value that says whether the route is in the main table, where routes are unless a policy uses another.
    var isMain: Bool
    /// The route's metric. The kernel prefers the lowest.
    var metric: UInt32
}

/// The lists of the kernel's network state, in the order of the requests.
enum NetworkList: CaseIterable {
    case links
    case addresses
    case routes
}
