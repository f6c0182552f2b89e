import Glibc
import HeadgateCore
import Testing

@testable import HeadgateServer

/// Tests when the machine counts as connected.
@Suite struct NetworkTableTests {
    @Test("B20: without an interface there is no connection")
    func nothing() {
        #expect(NetworkTable().state == .disconnected)
    }

    @Test("B20: an interface that is up, has carrier and an address of global scope is a connection")
    func connected() {
        #expect(NetworkTable([.ethernet(2), .address(2)]).state == .connected(.ethernet))
    }

    @Test("B20: an interface without an address is not a connection, before and after it has one")
    func noAddress() {
        var table = NetworkTable([.ethernet(2)])
        #expect(table.state == .disconnected)
        table.take(.address(2))
        #expect(table.state == .connected(.ethernet))
        table.take(.noAddress(2))
        #expect(table.state == .disconnected)
    }

    @Test("B20: with two addresses, losing one has no effect")
    func twoAddresses() {
        var table = NetworkTable([.ethernet(2), .address(2, host: 1), .address(2, host: 2)])
        table.take(.noAddress(2, host: 1))
        #expect(table.state == .connected(.ethernet))
        table.take(.noAddress(2, host: 2))
        #expect(table.state == .disconnected)
    }

    @Test("B20: the same address with another prefix is another address")
    func prefixes() {
        var table = NetworkTable([.ethernet(2), .address(2, prefix: 24), .address(2, prefix: 16)])
        table.take(.noAddress(2, prefix: 24))
        #expect(table.state == .connected(.ethernet))
    }

    @Test("B20: an address that is reported before its interface counts once the interface is there")
    func addressFirst() {
        var table = NetworkTable([.address(2)])
        #expect(table.state == .disconnected)
        table.take(.ethernet(2))
        #expect(table.state == .connected(.ethernet))
    }

    @Test("B20: loopback is not a connection, whatever its addresses")
    func loopback() {
        let loopback = NetworkInterface(name: "lo", isLoopback: true, isUp: true, hasCarrier: true, kind: .other)
        let table = NetworkTable([.link(index: 1, loopback), .address(1), .route(1)])
        #expect(table.state == .disconnected)
    }

    @Test("B20: up without carrier, and carrier without up, are not a connection", arguments: [true, false])
    func halfRunning(isUp: Bool) {
        var table = NetworkTable([.ethernet(2), .address(2)])
        table.take(.ethernet(2, isUp: isUp, hasCarrier: !isUp))
        #expect(table.state == .disconnected)
        table.take(.ethernet(2))
        #expect(table.state == .connected(.ethernet))
    }

    @Test("B20: an interface that disappears loses its addresses")
    func linkGone() {
        var table = NetworkTable([.ethernet(2), .address(2)])
        table.take(.linkGone(index: 2))
        #expect(table.state == .disconnected)
        // This is another interface with the same index.
        table.take(.ethernet(2))
        #expect(table.state == .disconnected)
    }

    @Test("B20: with require_default_route, a connected interface needs a default route")
    func requiresDefaultRoute() {
        var table = NetworkTable(requiresDefaultRoute: true, [.ethernet(2), .address(2)])
        #expect(table.state == .disconnected)
        table.take(.route(2))
        #expect(table.state == .connected(.ethernet))
        table.forget(.routes)
        #expect(table.state == .disconnected)
    }

    @Test("B20: with require_default_route, a route over an interface that is not connected is not enough")
    func routeElsewhere() {
        let table = NetworkTable(
            requiresDefaultRoute: true, [.ethernet(2), .address(2), .ethernet(3, hasCarrier: false), .route(3)])
        #expect(table.state == .disconnected)
    }

    @Test("B20: with require_default_route, a default route in a policy routing table is enough")
    func policyRoute() {
        let table = NetworkTable(requiresDefaultRoute: true, [.ethernet(2), .address(2), .route(2, isMain: false)])
        #expect(table.state == .connected(.ethernet))
    }
}

/// Tests the kind of the machine's connection.
@Suite struct NetworkKindTests {
    private let both: [NetworkFact] = [.ethernet(2), .address(2), .wifi(3), .address(3)]

    @Test("B21: without a default route the kind is that of the first connected interface")
    func first() {
        var table = NetworkTable(both)
        #expect(table.state == .connected(.ethernet))
        table.take(.ethernet(2, hasCarrier: false))
        #expect(table.state == .connected(.wifi))
    }

    @Test("B21: the interface with the default route decides the kind of the connection")
    func byRoute() {
        #expect(NetworkTable(both + [.route(3)]).state == .connected(.wifi))
    }

    @Test(
        "B21: of two default routes the one with the lower metric decides the kind",
        arguments: [(100, 600), (600, 100)])
    func byMetric(ethernet: UInt32, wifi: UInt32) {
        let table = NetworkTable(both + [.route(2, metric: ethernet), .route(3, metric: wifi)])
        #expect(table.state == .connected(ethernet < wifi ? .ethernet : .wifi))
    }

    @Test("B21: a default route over an interface without carrier does not decide the kind")
    func deadRoute() {
        var table = NetworkTable(both + [.route(2, metric: 100), .route(3, metric: 600)])
        table.take(.ethernet(2, hasCarrier: false))
        #expect(table.state == .connected(.wifi))
    }

    @Test("B21: a default route of the main table goes before those of other tables")
    func mainTable() {
        let table = NetworkTable(both + [.route(2, isMain: false, metric: 0), .route(3, metric: 600)])
        #expect(table.state == .connected(.wifi))
    }

    @Test("B21: an interface that changes its kind, for example by a new name, changes the connection's kind")
    func kindChanges() {
        var table = NetworkTable([.ethernet(2), .address(2)])
        table.take(.wifi(2))
        #expect(table.state == .connected(.wifi))
    }
}

/// Tests when the list of routes must be requested again.
@Suite struct DoubtfulRoutesTests {
    private static let known: [NetworkFact] = [.ethernet(2), .address(2), .route(2)]

    @Test(
        "B21: after a change with which the kernel may drop routes without a message, the routes are in doubt",
        arguments: [.ethernet(2, isUp: false), .linkGone(index: 2), .noAddress(2), .defaultRoutesChanged]
            as [NetworkFact])
    func doubts(fact: NetworkFact) {
        var table = NetworkTable(Self.known)
        #expect(!table.doubtsRoutes)
        table.take(fact)
        #expect(table.doubtsRoutes)
        table.forget(.routes)
        #expect(!table.doubtsRoutes)
    }

    @Test(
        "B21: a change that cannot have removed a route raises no doubt",
        arguments: [
            .ethernet(2, hasCarrier: false), .ethernet(2), .ethernet(9), .address(2, host: 7), .route(2, metric: 7),
            .addressGone(index: 2, NetworkAddress(family: UInt8(AF_INET6), bytes: [1], prefixLength: 64)),
        ] as [NetworkFact])
    func doesNotDoubt(fact: NetworkFact) {
        var table = NetworkTable(Self.known)
        table.take(fact)
        #expect(!table.doubtsRoutes)
    }

    @Test("B21: without a known default route, no routes are in doubt")
    func nothingToDoubt() {
        var table = NetworkTable([.ethernet(2), .address(2)])
        table.take(.linkGone(index: 2))
        table.take(.defaultRoutesChanged)
        #expect(!table.doubtsRoutes)
    }
}

extension NetworkTable {
    fileprivate init(requiresDefaultRoute: Bool = false, _ facts: [NetworkFact]) {
        self.init(requiresDefaultRoute: requiresDefaultRoute)
        for fact in facts { take(fact) }
    }
}

extension NetworkFact {
    fileprivate static func ethernet(_ index: Int32, isUp: Bool = true, hasCarrier: Bool = true) -> NetworkFact {
        .link(
            index: index,
            NetworkInterface(
                name: "eth\(index)", isLoopback: false, isUp: isUp, hasCarrier: hasCarrier, kind: .ethernet))
    }

    fileprivate static func wifi(_ index: Int32) -> NetworkFact {
        .link(
            index: index,
            NetworkInterface(name: "wlan\(index)", isLoopback: false, isUp: true, hasCarrier: true, kind: .wifi))
    }

    fileprivate static func address(_ index: Int32, host: UInt8 = 1, prefix: UInt8 = 24) -> NetworkFact {
        .address(index: index, .ipv4(host: host, prefix: prefix))
    }

    fileprivate static func noAddress(_ index: Int32, host: UInt8 = 1, prefix: UInt8 = 24) -> NetworkFact {
        .addressGone(index: index, .ipv4(host: host, prefix: prefix))
    }

    fileprivate static func route(_ index: Int32, isMain: Bool = true, metric: UInt32 = 100) -> NetworkFact {
        .defaultRoute(NetworkRoute(interface: index, isMain: isMain, metric: metric))
    }
}

extension NetworkAddress {
    fileprivate static func ipv4(host: UInt8, prefix: UInt8) -> NetworkAddress {
        NetworkAddress(family: UInt8(AF_INET), bytes: [192, 0, 2, host], prefixLength: prefix)
    }
}
