import Foundation
import Testing

/// X1: access rights, tested with real users. The daemon runs in a group of its own, whose members can connect.
@Suite(.asOtherUsers) struct AccessTests {
    static let daemonGroup: UInt32 = 45_000
    private static let stranger = Person(uid: 45_001, gid: 45_001, groups: [daemonGroup])

    /// A call of each method that clients with only the right to track may not use, by method group.
    static let guarded: [(group: String, method: String, params: JSON)] = [
        ("observe", "status", [:]), ("observe", "watch", [:]), ("observe", "unwatch", ["watch": "w"]),
        ("observe", "barrier.list", [:]), ("observe", "dispatcher.list", [:]), ("observe", "config.get", [:]),
        ("read", "queue.peek", ["dispatcher": "nowhere"]), ("read", "dead_letters.list", [:]),
        ("control", "flush.cancel", ["flush": "f"]), ("control", "barrier.register", ["id": "b", "state": "open"]),
        ("control", "barrier.set", ["id": "b"]), ("control", "barrier.unregister", ["id": "b"]),
        ("control", "dispatcher.pause", ["id": "collect"]), ("control", "dispatcher.resume", ["id": "collect"]),
        ("control", "queue.purge", ["dispatcher": "nowhere"]), ("control", "dead_letters.requeue", [:]),
        ("control", "dead_letters.purge", [:]),
        ("serve", "board.serve", ["board": "till"]), ("serve", "board.unserve", ["board": "till"]),
        ("configure", "config.set", ["patch": [:]]), ("control", "config.reload", [:]),
    ]

    @Test("X1: a client without granted rights may only track, and other calls are refused as unauthorized")
    func strangers() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(in: scene, sendingTo: collector)
            let client = try await scene.doorway(of: Self.stranger, to: daemon).connect()
            _ = try await client.result("hello", ["client": ["name": "shop"]])
            #expect(try await client.result("track", ["event": "x", "id": "1"])["seq"] == 1)
            #expect(try await client.result("track_many", ["events": [["event": "x"]]])["first_seq"] == 2)
            for (method, params) in [("ping", [:]), ("flush", [:]), ("application.status", ["status": "foreground"])]
                as [(String, JSON)]
            {
                _ = try await client.result(method, params)
            }
            for call in Self.guarded {
                let error = try await client.refusal(call.method, call.params)
                #expect(error["code"] == -32_000)
                #expect(error["data"]["reason"] == "unauthorized", "\(call.method)")
            }
            // The context comes from the socket's credentials.
            try await collector.acceptedIDs(atLeast: 2)
            let context = collector.accepted.flatMap(\.events)[0]["context"]
            #expect(context.contains(["uid": 45_001, "gid": 45_001]))
        }
    }

    /// Settings that grant a right, and a user whom they cover.
    struct Grant: Sendable {
        var settings: JSON
        var person: Person
    }

    static let grants = [
        Grant(settings: ["uids": [45_002]], person: Person(uid: 45_002, gid: 45_001, groups: [daemonGroup])),
        Grant(settings: ["gids": [45_003]], person: Person(uid: 45_001, gid: 45_003, groups: [daemonGroup])),
        Grant(settings: ["gids": [45_003]], person: Person(uid: 45_001, gid: daemonGroup, groups: [45_004, 45_003])),
        Grant(settings: ["users": ["nobody"]], person: Person(uid: 65_534, gid: 45_001, groups: [daemonGroup])),
    ]

    @Test(
        "X1: a method group is granted to a user, a group, or a supplementary group, and no other method group",
        arguments: ["observe", "read", "control", "serve", "configure"], grants)
    func granted(group: String, to grant: Grant) async throws {
        try await withScene { scene in
            let daemon = try await daemon(
                in: scene, sendingTo: scene.collector(), access: .object([group: grant.settings]))
            let granted = try await scene.doorway(of: grant.person, to: daemon).connect()
            let other = try await scene.doorway(of: Self.stranger, to: daemon).connect()
            for call in Self.guarded {
                let mayCall = try await isAllowed(call.method, call.params, to: granted)
                #expect(mayCall == (call.group == group), "\(call.method)")
                #expect(try await !isAllowed(call.method, call.params, to: other), "\(call.method)")
            }
        }
    }

    @Test("X1: a reload of access applies to connected clients")
    func reload() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(in: scene, sendingTo: collector)
            let client = try await scene.doorway(of: Self.stranger, to: daemon).connect()
            #expect(try await !isAllowed("status", to: client))
            try await daemon.set(["access": ["observe": ["uids": [45_001]]]])
            #expect(try await isAllowed("status", to: client))
            #expect(try await !isAllowed("config.reload", to: client))
            // The client ends its watch first, so that it stays connected when its right is removed.
            let watch = try await client.watch("clients")
            _ = try await client.result("unwatch", ["watch": .string(watch)])
            try await daemon.set(["access": .null])
            #expect(try await !isAllowed("status", to: client))
        }
    }

    @Test("X1: a user outside the socket's group cannot connect, whatever the umask was", arguments: ["000", "077"])
    func outsiders(umask: String) async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.launcher = ["/bin/sh", "-c", #"umask \#(umask); exec "$@""#, "sh"] + Self.launcher
            try daemon.configure(["dispatchers": ["collect": scene.collector().dispatcher()]])
            try await daemon.start()
            let outsider = try await scene.doorway(of: Person(uid: 45_001, gid: 45_001), to: daemon)
            let client = try await outsider.connect()
            #expect(try await client.nextLine() == nil)
            try await eventually("the reason") { outsider.errorOutput.contains("Permission denied") }
            let insider = try await scene.doorway(of: Self.stranger, to: daemon).connect()
            #expect(try await insider.result("ping") == [:])
        }
    }

    @Test("X1: the daemon's user and root may call every method, and others may not")
    func ownUser() async throws {
        try await withScene { scene in
            try scene.openToAll()
            let own = Person(uid: 45_010, gid: Self.daemonGroup)
            let daemon = scene.idleDaemon()
            daemon.launcher = own.launcher
            try daemon.configure(["dispatchers": ["archive": ["kind": "file", "path": "e.ndjson"]]])
            try await daemon.give(to: own)
            try await daemon.start()
            let mine = try await scene.doorway(of: own, to: daemon).connect()
            let other = try await scene.doorway(of: Self.stranger, to: daemon).connect()
            let root = try await daemon.connect()
            for call in Self.guarded {
                #expect(try await isAllowed(call.method, call.params, to: mine), "\(call.method)")
                #expect(try await isAllowed(call.method, call.params, to: root), "\(call.method)")
                #expect(try await !isAllowed(call.method, call.params, to: other), "\(call.method)")
            }
        }
    }

    @Test(
        "X5: ids of two users are independent, also under one name, unless the settings share the namespace")
    func namespaces() async throws {
        try await withScene { scene in
            let sharing: JSON = ["shared_namespaces": ["till": ["uids": [0, 45_001]]]]
            let daemon = try await daemon(in: scene, sendingTo: scene.collector(), access: sharing)
            let event: JSON = ["event": "x", "id": "1"]
            let mine = try await scene.doorway(of: Self.stranger, to: daemon)
            let first = try await mine.connect()
            #expect(try await first.result("track", event)["duplicate"] == .null)
            #expect(try await daemon.ask("track", event)["duplicate"] == .null)
            #expect(try await mine.connect().result("track", event)["duplicate"] == true)

            let thief = try await mine.connect()
            let error = try await thief.refusal("hello", ["client": ["name": "x"], "namespace": "uid:0"])
            #expect(error["data"]["path"] == "namespace")

            for (namespace, isShared) in [("shop", false), ("till", true)] {
                let hello: JSON = ["client": ["name": "x"], "namespace": .string(namespace)]
                let (one, two) = (try await mine.connect(), try await daemon.connect())
                for client in [one, two] { _ = try await client.result("hello", hello) }
                #expect(try await one.result("track", event)["duplicate"] == .null)
                #expect(try await two.result("track", event)["duplicate"] == (isShared ? true : .null))
            }
        }
    }

    // MARK: The scene

    static let launcher = ["/usr/bin/setpriv", "--regid=\(daemonGroup)", "--clear-groups"]

    /// Creates a daemon that root runs in a separate group.
    private func daemon(
        in scene: Scene, sendingTo collector: Collector, access: JSON = [:]
    ) async throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.launcher = Self.launcher
        try daemon.configure(["access": access, "dispatchers": ["collect": collector.dispatcher()]])
        try await daemon.start()
        return daemon
    }

    /// Returns true if the call is not refused as unauthorized.
    private func isAllowed(_ method: String, _ params: JSON = [:], to client: LineClient) async throws -> Bool {
        let answer = try await client.answer(to: client.request(method, params))
        return answer["error"]["data"]["reason"] != "unauthorized"
    }
}

extension Daemon {
    /// Makes a user the owner of the daemon's folder, together with a copy of the program that the user can read.
    fileprivate func give(to person: Person) async throws {
        let copy = folder + "/headgated"
        // A copy made by this process would be open for writing in children that other tests spawn now, and could not
        // be executed.
        let copying = try ChildProcess(
            "/bin/cp", [BuiltProducts.path(of: program), copy], outputPath: copy + ".out", errorPath: copy + ".err")
        #expect(try await copying.exitCode() == 0)
        executable = copy
        for path in [folder, configurationPath, copy] {
            _ = try SystemError.check(chown(path, person.uid, person.gid), "chown \(path)")
        }
    }
}
