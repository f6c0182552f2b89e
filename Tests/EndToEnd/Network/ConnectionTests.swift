import Glibc
import Testing

/// Real changes of the daemon's network, through `veth` interfaces in namespaces of the test.
@Suite(.inNamespaces)
struct ConnectionTests {
    @Test("B20: without a network only dispatchers that use it are blocked")
    func disconnected() async throws {
        try await withVirtualNetwork { scene, network in
            let local = try scene.collector(at: network.atTheMachine)
            let daemon = try await network.daemon(
                scene,
                [
                    "dispatchers": [
                        "collect": ["kind": "http", "endpoint": "http://10.77.0.1:9/events"],
                        "local": local.dispatcher(),
                        "archive": ["kind": "file", "path": "archive.ndjson"],
                    ]
                ])
            try await daemon.network("disconnected")
            let ids = try await daemon.track(1...5)
            #expect(try await local.acceptedIDs(atLeast: 5) == ids)
            try await daemon.dispatcher("archive", until: "all are in the file") { $0["sent"].int == 5 }

            let held = try await daemon.dispatcher()
            #expect(
                held.contains(["state": "blocked", "blocked_by": ["ConnectivityBarrier"], "pending": 5, "sent": 0]))
            let barrier = try await daemon.barrier("ConnectivityBarrier")
            #expect(barrier["scopes"] == ["collect"])
            #expect(barrier["states"] == ["collect": "closed"])
            #expect(barrier["word"] == "connectivity")
            #expect(barrier["reason"] == "no network connection")
            #expect(barrier["flushable"] == false)
        }
    }

    @Test("B20: without a network a flush does not pass the barrier")
    func disconnectedFlush() async throws {
        try await withVirtualNetwork { scene, network in
            let daemon = try await network.daemon(
                scene, ["dispatchers": ["collect": ["kind": "http", "endpoint": "http://10.77.0.1:9/events"]]])
            try await daemon.track(1...2)
            let flush = try await daemon.ask("flush", ["wait": true, "timeout_ms": 50])
            #expect(flush["ended"] == "timeout")
            let left: JSON = ["sent": 0, "failed": 0, "left": 2, "blocked_by": ["ConnectivityBarrier"]]
            #expect(flush["dispatchers"] == ["collect": left])
        }
    }

    @Test("B20, B21: each loss and each return of the network is noticed")
    func lossesAndReturns() async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            let daemon = try await network.daemon(scene, [:])
            try await daemon.network("disconnected")
            try await network.plugIn()
            try await machine.ip("address add 10.77.0.2/24 dev wan0")
            #expect(try await daemon.networkNow()["state"] == "disconnected")

            try await daemon.expect("connected", after: "link set wan0 up", in: machine)
            try await daemon.expect("disconnected", after: "link set wan0 down", in: machine)
            try await daemon.expect("connected", after: "link set wan0 up", in: machine)
            try await daemon.expect("disconnected", after: "address delete 10.77.0.2/24 dev wan0", in: machine)
            try await daemon.expect("connected", after: "address add 10.77.0.2/24 dev wan0", in: machine)
            try await daemon.expect("disconnected", after: "link delete wan0", in: machine)
        }
    }

    @Test("B20: an interface without a carrier is not a connection")
    func carrier() async throws {
        try await withVirtualNetwork { scene, network in
            try await network.connect()
            let daemon = try await network.daemon(scene, [:])
            try await daemon.network("connected", "ethernet")
            // The kernel may report a lost carrier up to a second late.
            try await network.world.ip("link set wan0 down")
            try await daemon.network("disconnected")
            try await network.world.ip("link set wan0 up")
            try await daemon.network("connected", "ethernet")
        }
    }

    @Test("B20: an IPv6 address counts after duplicate detection, and a link-local one never does")
    func tentativeAddress() async throws {
        try await withVirtualNetwork { scene, network in
            let daemon = try await network.daemon(scene, [:])
            try await network.plugIn()
            try await network.machine.ip("link set wan0 up")
            try await network.machine.ip("address add 2001:db8::2/64 dev wan0")
            let reported = try await daemon.networkNow()
            let isTentative = try await network.machine.ip("-6 address show dev wan0 scope global tentative")
            // If the address is no longer tentative, the kernel had already verified it.
            if isTentative.contains("2001:db8::2") { #expect(reported["state"] == "disconnected") }
            try await daemon.network("connected", "ethernet")
            try await network.machine.ip("address delete 2001:db8::2/64 dev wan0")
            try await daemon.network("disconnected")
            #expect(try await network.machine.ip("-6 address show dev wan0 scope link").contains("fe80::"))
        }
    }

    @Test("B21: the network settings may change while the daemon runs")
    func settingsChange() async throws {
        try await withVirtualNetwork { scene, network in
            try await network.connect()
            let daemon = try await network.daemon(scene, [:])
            try await daemon.network("connected", "ethernet")
            let kinds: JSON = ["network": ["interface_kinds": ["wan0": "wifi"]]]
            _ = try await daemon.ask("config.set", ["patch": kinds])
            #expect(try await daemon.networkNow() == ["state": "connected", "kind": "wifi"])
            let strict: JSON = ["network": ["require_default_route": true]]
            _ = try await daemon.ask("config.set", ["patch": strict])
            #expect(try await daemon.networkNow()["state"] == "disconnected")
            try await network.machine.ip("route add default via 10.77.0.1")
            try await daemon.network("connected", "wifi")
        }
    }

    @Test("B21: kernel messages lost while the daemon did not read are recovered, and the watch continues")
    func overrun() async throws {
        try await withVirtualNetwork { scene, network in
            let machine = network.machine
            let daemon = try await network.daemon(scene, [:])
            try await network.connect()
            try await daemon.network("connected", "ethernet")

            daemon.process?.signal(SIGSTOP)
            let changes = (0..<4_000).map { number in
                "address \(number % 2 == 0 ? "add" : "delete") 10.88.0.1/32 dev wan0"
            }
            try await machine.batch(changes + ["address flush dev wan0"])
            #expect(try await machine.lostMessages() > 0)
            daemon.process?.signal(SIGCONT)
            try await daemon.network("disconnected")
            try await machine.ip("address add 10.77.0.2/24 dev wan0")
            try await daemon.network("connected", "ethernet")
        }
    }
}

extension Daemon {
    /// Runs an `ip` command, and waits until `status` shows the effect.
    fileprivate func expect(_ state: String, after line: String, in namespace: NetworkNamespace) async throws {
        try await namespace.ip(line)
        try await network(state, state == "connected" ? "ethernet" : nil)
    }
}

extension NetworkNamespace {
    /// Returns the number of messages that the kernel dropped for netlink sockets in the namespace.
    fileprivate func lostMessages() async throws -> Int {
        let table = try inside { try String(contentsOfFile: "/proc/thread-self/net/netlink", encoding: .utf8) }
        let lines = table.split(separator: "\n").dropFirst()
        // sk, Eth, Pid, Groups, Rmem, Wmem, Dump, Locks, Drops, Inode
        return lines.compactMap { Int($0.split(separator: " ")[8]) }.reduce(0, +)
    }
}
