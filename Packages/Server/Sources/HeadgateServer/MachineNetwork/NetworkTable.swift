import Glibc
import HeadgateCore

/// The machine's interfaces, addresses and default routes, and so whether it is connected (Behaviour B20, B21). Pure.
struct NetworkTable: Equatable {
    private var interfaces: [Int32: NetworkInterface] = [:]
    private var addresses: [Int32: Set<NetworkAddress>] = [:]
    private var routes: Set<NetworkRoute> = []
    /// Whether routes may have gone that nobody told of. The kernel drops routes of IPv4 without a word when an
    /// interface is switched off or an address goes, and does not always tell which one was replaced.
    private(set) var doubtsRoutes = false
    /// Whether a connection needs a default route as well (`network.require_default_route`).
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

    /// Forgets one list, which is about to be told anew.
    mutating func forget(_ list: NetworkList) {
        switch list {
        case .links: interfaces = [:]
        case .addresses: addresses = [:]
        case .routes:
            routes = []
            doubtsRoutes = false
        }
    }

    /// Where none are known, none can have gone.
    private mutating func doubtRoutes() {
        doubtsRoutes = !routes.isEmpty
    }

    // MARK: What it comes to

    /// Connected: some interface but loopback is up with carrier and has an address of global scope. The kind is that of
    /// the interface with the default route, else of the first connected one.
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

    /// Routes of the main table come first: in others are those of a policy's, which may be meant for a few packets only.
    private func interfaceWithDefaultRoute(among connected: [Int32]) -> Int32? {
        let usable = routes.filter { connected.contains($0.interface) }
        let best = usable.min {
            ($0.isMain ? 0 : 1, $0.metric, $0.interface) < ($1.isMain ? 0 : 1, $1.metric, $1.interface)
        }
        return best?.interface
    }
}

/// What the kernel tells of links, addresses and routes (rtnetlink(7)).
enum NetworkFact: Equatable {
    case link(index: Int32, NetworkInterface)
    case linkGone(index: Int32)
    case address(index: Int32, NetworkAddress)
    case addressGone(index: Int32, NetworkAddress)
    case defaultRoute(NetworkRoute)
    /// A default route was taken away or replaced. Which one is not always told, so the list has to be looked at.
    case defaultRoutesChanged
}

/// A network interface, as far as it matters for being connected.
struct NetworkInterface: Equatable {
    var name: String
    var isLoopback: Bool
    /// Switched on.
    var isUp: Bool
    var hasCarrier: Bool
    var kind: ConnectionKind

    var isRunning: Bool { isUp && hasCarrier }
}

/// An address of global scope, as the kernel knows it.
struct NetworkAddress: Hashable {
    /// `AF_INET` or `AF_INET6`.
    var family: UInt8
    var bytes: [UInt8]
    var prefixLength: UInt8
}

/// A default route over an interface.
struct NetworkRoute: Hashable {
    var interface: Int32
    /// Whether it is in the main table, where routes are unless a policy says otherwise.
    var isMain: Bool
    /// A lower one is preferred.
    var metric: UInt32
}

/// The lists of which the kernel's view of the network is made, in the order in which they are asked for.
enum NetworkList: CaseIterable {
    case links
    case addresses
    case routes
}
