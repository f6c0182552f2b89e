/// Two machines of a test's own and the cables between them: one is the daemon's, the other is the world around it.
///
/// A cable is a pair of `veth` interfaces of the same name. The first is 10.77.0.1 in the world and 10.77.0.2 at the
/// machine, the next 10.77.1.1 and 10.77.1.2, and so on; at the machine it is neither up nor has it its address at first.
final class Surroundings {
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

    /// Lays a cable to the machine.
    func plugIn(_ name: String = "wan0") async throws {
        try await machine.ip("link add \(name) type veth peer name \(name) netns \(world.name)")
        cables.append(name)
        try await world.ip("address add \(worldAddress(name))/24 dev \(name)")
        try await world.ip("link set \(name) up")
    }

    /// Lays a cable to the machine, and makes a connection of it.
    func connect(_ name: String = "wan0") async throws {
        try await plugIn(name)
        try await machine.ip("address add \(machineAddress(name))/24 dev \(name)")
        try await machine.ip("link set \(name) up")
    }

    func worldAddress(_ name: String = "wan0") -> String { "10.77.\(number(name)).1" }
    func machineAddress(_ name: String = "wan0") -> String { "10.77.\(number(name)).2" }

    private func number(_ name: String) -> Int { cables.firstIndex(of: name) ?? 0 }

    // MARK: Who is there

    /// A collector in the world, where 10.77.0.1 is. It takes a cable to be there.
    var inTheWorld: CollectorPlace { CollectorPlace(address: worldAddress(), namespace: world) }

    /// A collector at 127.0.0.1 of the machine.
    var atTheMachine: CollectorPlace { CollectorPlace(namespace: machine) }

    /// A daemon on the machine, ready for clients: Unix sockets reach across.
    func daemon(_ scene: Scene, _ configuration: JSON) async throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.launcher = machine.launcher
        try daemon.configure(configuration)
        try await daemon.start()
        return daemon
    }

    /// A daemon on the machine whose dispatcher `collect` sends to one collector, and says of dispatches that they were
    /// held.
    func daemon(_ scene: Scene, sendingTo collector: Collector, top: JSON = [:]) async throws -> Daemon {
        let dispatcher = collector.dispatcher(["annotate_queued": true])
        return try await daemon(scene, top.merging(["dispatchers": ["collect": dispatcher]]))
    }
}

/// Runs a test in a scene of its own with networks of its own, which are gone when it ends, however it does.
func withSurroundings(_ test: (Scene, Surroundings) async throws -> Void) async throws {
    try await withScene { scene in
        let surroundings = Surroundings()
        do {
            try await surroundings.make()
            try await test(scene, surroundings)
        } catch {
            await surroundings.remove()
            throw error
        }
        await surroundings.remove()
    }
}

extension Daemon {
    /// Waits until `status` tells that state of the network.
    func network(_ state: String, _ kind: String? = nil) async throws {
        let wanted: JSON = ["state": .string(state), "kind": kind.map(JSON.string) ?? .null]
        var last = JSON.null
        do {
            try await eventually("the network is \(wanted)") {
                last = try await ask("status")["network"]
                return last == wanted
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "it is \(last)")
        }
    }

    /// What `status` tells of the network once all that the kernel has told so far is taken in.
    func networkNow() async throws -> JSON {
        let client = try await connect()
        defer { client.close() }
        // The loop reads all that is ready in one turn: what was told before the first question counts for the second.
        _ = try await client.result("status")
        return try await client.result("status")["network"]
    }
}
