/// Two network namespaces and the cables between them: one is the daemon's machine, the other the outside world.
///
/// A cable is a pair of `veth` interfaces with the same name. The first has the address 10.77.0.1 in the world and
/// 10.77.0.2 on the machine, the next 10.77.1.1 and 10.77.1.2, and so on. The machine's end is down and without an
/// address at first.
final class VirtualNetwork {
    let machine = NetworkNamespace()
    let world = NetworkNamespace()
    private var cables: [String] = []

    fileprivate init() {}

    fileprivate func make() async throws {
        try await machine.make()
        try await machine.ip("link set lo up")
        try await world.make()
    }

    fileprivate func remove() async {
        await machine.remove()
        await world.remove()
    }

    // MARK: Cables

    /// Creates a cable to the machine.
    func plugIn(_ name: String = "wan0") async throws {
        try await machine.ip("link add \(name) type veth peer name \(name) netns \(world.name)")
        cables.append(name)
        try await world.ip("address add \(worldAddress(name))/24 dev \(name)")
        try await world.ip("link set \(name) up")
    }

    /// Creates a cable to the machine, and configures and raises the machine's end.
    func connect(_ name: String = "wan0") async throws {
        try await plugIn(name)
        try await machine.ip("address add \(machineAddress(name))/24 dev \(name)")
        try await machine.ip("link set \(name) up")
    }

    func worldAddress(_ name: String = "wan0") -> String { "10.77.\(number(name)).1" }
    func machineAddress(_ name: String = "wan0") -> String { "10.77.\(number(name)).2" }

    private func number(_ name: String) -> Int { cables.firstIndex(of: name) ?? 0 }

    // MARK: Collectors and daemons

    /// An address for a collector in the world, at 10.77.0.1. It requires a cable.
    var inTheWorld: CollectorAddress { CollectorAddress(address: worldAddress(), namespace: world) }

    /// An address for a collector at 127.0.0.1 of the machine.
    var atTheMachine: CollectorAddress { CollectorAddress(namespace: machine) }

    /// Starts a daemon on the machine. Clients outside the namespace reach its Unix socket.
    func daemon(_ scene: Scene, _ configuration: JSON) async throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.launcher = machine.launcher
        try daemon.configure(configuration)
        try await daemon.start()
        return daemon
    }

    /// Starts a daemon on the machine whose dispatcher `collect` sends to one collector and annotates held events.
    func daemon(_ scene: Scene, sendingTo collector: Collector, top: JSON = [:]) async throws -> Daemon {
        let dispatcher = collector.dispatcher(["annotate_queued": true])
        return try await daemon(scene, top.merging(["dispatchers": ["collect": dispatcher]]))
    }
}

/// Runs a test in a new scene with network namespaces, which are always deleted at the end.
func withVirtualNetwork(_ test: (Scene, VirtualNetwork) async throws -> Void) async throws {
    try await withScene { scene in
        let network = VirtualNetwork()
        do {
            try await network.make()
            try await test(scene, network)
        } catch {
            await network.remove()
            throw error
        }
        await network.remove()
    }
}

extension Daemon {
    /// Waits until `status` reports a state of the network.
    func network(_ state: String, _ kind: String? = nil) async throws {
        let expected: JSON = ["state": .string(state), "kind": kind.map(JSON.string) ?? .null]
        var last = JSON.null
        do {
            try await eventually("the network is \(expected)") {
                last = try await ask("status")["network"]
                return last == expected
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "it is \(last)")
        }
    }

    /// Returns the network state in `status` after all pending kernel messages are processed.
    func networkNow() async throws -> JSON {
        let client = try await connect()
        defer { client.close() }
        // The loop reads everything that is ready in one turn, so messages before the first call are included in the
        // second answer.
        _ = try await client.result("status")
        return try await client.result("status")["network"]
    }
}
