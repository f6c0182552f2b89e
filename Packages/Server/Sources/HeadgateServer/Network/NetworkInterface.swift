import HeadgateCore

/// A network interface, as far as it matters for being connected.
struct NetworkInterface: Equatable {
    var name: String
    var isLoopback: Bool
    /// Up, and with carrier.
    var isRunning: Bool
    var kind: ConnectionKind
}

/// What the kernel tells of links, addresses and routes (rtnetlink(7)).
enum NetworkFact: Equatable {
    case link(index: Int32, NetworkInterface)
    case linkGone(index: Int32)
    /// An address of global scope.
    case address(index: Int32, NetworkAddress)
    case addressGone(index: Int32, NetworkAddress)
    /// A default route over an interface.
    case defaultRoute(NetworkRoute)
    case defaultRouteGone(NetworkRoute)
}

/// An address as the kernel knows it.
struct NetworkAddress: Hashable {
    /// `AF_INET` or `AF_INET6`.
    var family: UInt8
    var bytes: [UInt8]
    var prefixLength: UInt8
}

/// A default route; those with a lower metric are preferred.
struct NetworkRoute: Hashable {
    var family: UInt8
    var table: UInt32
    var interface: Int32
    var metric: UInt32
    var gateway: [UInt8]
}
