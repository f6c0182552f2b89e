import Testing

/// The ConnectivityBarrier's effect on dispatches, and their annotation.
@Suite(.inNamespaces)
struct ConnectivityBarrierTests {
    @Test("B20, D13, P2: held events are sent with an annotation when the network is back, and others without one")
    func heldAndSent() async throws {
        try await withVirtualNetwork { scene, network in
            try await network.plugIn()
            try await network.machine.ip("address add 10.77.0.2/24 dev wan0")
            let collector = try scene.collector(at: network.inTheWorld)
            let daemon = try await network.daemon(scene, sendingTo: collector)
            let client = try await daemon.connect()
            defer { client.close() }
            _ = try await client.result("track", ["event": "early", "id": "e1", "data": ["n": 1]])
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 1]))

            try await network.machine.ip("link set wan0 up")
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            _ = try await client.result("track", ["event": "late", "id": "e2", "data": ["n": 2]])
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])

            let (early, late) = (collector.accepted[0].events[0], collector.accepted[1].events[0])
            let queued: JSON = [
                "n": 1, "was_queued": "true", "queue_reason": "connectivity", "network_connection_type": "ethernet",
            ]
            #expect(early["data"] == queued)
            // The context describes the moment of tracking.
            #expect(early["context"]["network_connection_type"] == .null)
            #expect(late["data"] == ["n": 2])
            #expect(late["context"]["network_connection_type"] == "ethernet")
        }
    }

    @Test("B20: with wifi_only a cellular link blocks, but a flush passes")
    func wifiOnly() async throws {
        try await withVirtualNetwork { scene, network in
            try await network.connect()
            let collector = try scene.collector(at: network.inTheWorld)
            let entry: JSON = ["barrier_id": "ConnectivityBarrier", "configuration": ["wifi_only": true]]
            let daemon = try await network.daemon(
                scene, sendingTo: collector,
                top: [
                    "barriers": ["ConnectivityBarrier": entry],
                    "network": ["interface_kinds": ["wan*": "cellular"]],
                ])
            try await daemon.network("connected", "cellular")
            let ids = try await daemon.track(1...3)
            #expect(
                try await daemon.dispatcher().contains(["state": "blocked", "blocked_by": ["ConnectivityBarrier"]]))
            let barrier = try await daemon.barrier("ConnectivityBarrier")
            #expect(barrier["flushable"] == true)
            #expect(barrier["reason"] == "the network connection is cellular")
            #expect(collector.requests.isEmpty)

            let flush = try await daemon.ask("flush", ["wait": true])
            #expect(flush["ended"] == "settled")
            #expect(collector.acceptedIDs == ids)
            let data = collector.accepted.flatMap(\.events).map(\.["data"])
            let queued: JSON = [
                "was_queued": "true", "queue_reason": "connectivity", "network_connection_type": "cellular",
            ]
            #expect(data == [queued, queued, queued])
            // The barrier is flushable only while there is a connection.
            try await network.machine.ip("link set wan0 down")
            try await daemon.network("disconnected")
            #expect(try await daemon.barrier("ConnectivityBarrier")["flushable"] == false)
        }
    }

    @Test("B20: wifi_only allows Wi-Fi and Ethernet only", arguments: ["wifi", "ethernet", "other"])
    func wifiOnlyKinds(kind: String) async throws {
        try await withVirtualNetwork { scene, network in
            try await network.connect()
            let entry: JSON = ["barrier_id": "ConnectivityBarrier", "configuration": ["wifi_only": true]]
            let daemon = try await network.daemon(
                scene,
                [
                    "dispatchers": ["collect": ["kind": "http", "endpoint": "http://10.77.0.1:9/events"]],
                    "barriers": ["ConnectivityBarrier": entry],
                    "network": ["interface_kinds": ["wan0": .string(kind)]],
                ])
            try await daemon.network("connected", kind)
            let state: JSON = kind == "other" ? "blocked" : "open"
            #expect(try await daemon.dispatcher()["state"] == state)
        }
    }

    @Test("B3, D13: a start with a network does not annotate events as held")
    func startHoldsNothing() async throws {
        try await withVirtualNetwork { scene, network in
            try await network.connect()
            let collector = try scene.collector(at: network.inTheWorld)
            let daemon = try await network.daemon(scene, sendingTo: collector)
            try await network.machine.ip("link set wan0 down")
            try await daemon.network("disconnected")
            let ids = try await daemon.track(1...3)
            try await daemon.killNow()
            try await network.machine.ip("link set wan0 up")
            try await daemon.start()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
            // The annotation of events held before a restart is not kept.
            #expect(collector.accepted.flatMap(\.events).map(\.["data"]) == [[:], [:], [:]])
        }
    }

    @Test("B21: a successful probe opens the barrier although the kernel sees no connection, until the network changes")
    func probe() async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            try await network.plugIn()
            // The address is reachable, but has only link scope.
            try await machine.ip("address add 10.77.0.2/24 scope link dev wan0")
            try await machine.ip("link set wan0 up")
            let collector = try scene.collector(at: network.inTheWorld)
            let probed = try scene.collector(at: network.inTheWorld, listening: false)
            let daemon = try await network.daemon(
                scene, sendingTo: collector,
                top: ["network": ["probe": ["url": .string(probed.endpoint), "interval_ms": 100]]])
            try await daemon.network("disconnected")
            let ids = try await daemon.track(1...2)
            #expect(collector.requests.isEmpty)

            probed.answerAlways(.status(503))
            try probed.listen()
            try await daemon.network("connected", "other")
            #expect(try await collector.acceptedIDs(atLeast: 2) == ids)
            #expect(probed.requests.count == 1)

            probed.goDown()
            try await machine.ip("link set wan0 down")
            try await daemon.network("disconnected")
            try await machine.ip("address add 10.78.0.2/24 dev wan0")
            try await machine.ip("link set wan0 up")
            try await daemon.network("connected", "ethernet")
        }
    }
}
