import Testing

/// Default routes and their effect on `network.require_default_route` and on the kind of the connection.
@Suite(.inNamespaces)
struct DefaultRouteTests {
    private static let strict: JSON = ["network": ["require_default_route": true]]
    private static let route = "route add default via 10.77.0.1"

    @Test("B20: with require_default_route the connection exists as long as the route")
    func routeComesAndGoes() async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            try await network.connect()
            let daemon = try await network.daemon(scene, Self.strict)
            try await daemon.network("disconnected")
            for _ in 1...3 {
                try await machine.ip(Self.route)
                try await daemon.network("connected", "ethernet")
                try await machine.ip("route delete default")
                try await daemon.network("disconnected")
            }
        }
    }

    @Test(
        "B20: a route that the kernel drops silently is noticed",
        arguments: [
            ["link set wan0 down", "link set wan0 up"],
            ["address delete 10.77.0.2/24 dev wan0", "address add 10.77.0.2/24 dev wan0"],
        ])
    func silentLoss(changes: [String]) async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            try await network.connect()
            try await machine.ip(Self.route)
            let daemon = try await network.daemon(scene, Self.strict)
            try await daemon.network("connected", "ethernet")

            try await machine.batch(changes)
            #expect(try await machine.ip("route show default").isEmpty)
            #expect(try await daemon.networkNow() == ["state": "disconnected", "kind": .null])
            try await machine.ip(Self.route)
            try await daemon.network("connected", "ethernet")
        }
    }

    @Test("B21: the kind is that of the interface with the default route, even after it is replaced")
    func replacedRoute() async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            try await network.connect("wan0")
            try await network.connect("wwan0")
            let daemon = try await network.daemon(
                scene, ["network": ["interface_kinds": ["ww*": "cellular", "wan0": "wifi"]]])
            try await daemon.network("connected", "wifi")
            try await machine.ip("route add default via 10.77.1.1")
            try await daemon.network("connected", "cellular")
            try await machine.ip("route replace default via 10.77.0.1")
            try await daemon.network("connected", "wifi")
            try await machine.ip("route replace default via 10.77.1.1")
            try await daemon.network("connected", "cellular")
            // A better route next to the first one.
            try await machine.ip("route delete default")
            try await machine.ip("route add default via 10.77.1.1 metric 600")
            try await machine.ip("route add default via 10.77.0.1 metric 100")
            try await daemon.network("connected", "wifi")
            try await network.world.ip("link set wan0 down")
            try await daemon.network("connected", "cellular")
        }
    }

    @Test("B21: a default route with several next hops exists as long as one of them")
    func multipath() async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            try await network.connect("wan0")
            try await network.connect("wwan0")
            try await machine.ip("route add default nexthop via 10.77.0.1 nexthop via 10.77.1.1")
            let daemon = try await network.daemon(
                scene,
                Self.strict.merging([
                    "network": ["require_default_route": true, "interface_kinds": ["ww*": "cellular"]]
                ]))
            try await daemon.network("connected", "ethernet")
            try await machine.ip("link set wan0 down")
            try await daemon.network("connected", "cellular")
            // The kernel restores the next hop.
            try await machine.ip("link set wan0 up")
            try await daemon.network("connected", "ethernet")
            try await machine.ip("route delete default")
            try await daemon.network("disconnected")
        }
    }
}
