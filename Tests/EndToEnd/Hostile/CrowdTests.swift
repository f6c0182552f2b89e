import Foundation
import Testing

/// X3: many connections, and connections that come and go.
@Suite struct CrowdTests {
    @Test("X3: 1 000 connections at once, half of them busy, are all served")
    func thousandConnections() async throws {
        try await withScene { scene in
            try raiseDescriptorLimit(to: 4_096)
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, ["dispatch_limit": 200], top: ["durability": "normal"])
            var clients: [LineClient] = []
            for _ in 1...1_000 { clients.append(try await daemon.connect()) }
            let working = clients.prefix(500)
            for round in 1...4 {
                for (number, client) in working.enumerated() {
                    let id = JSON.string("\(number)-\(round)")
                    _ = try await client.request("track", ["event": "x", "id": id])
                }
                for client in working { #expect(try await client.answer(to: round)["result"]["seq"] != .null) }
            }
            #expect(Set(try await collector.acceptedIDs(atLeast: 2_000)).count == 2_000)
            for client in clients.suffix(500) { #expect(try await client.result("ping") == [:]) }
        }
    }

    @Test("X3: many short connections with whole and partial lines leak neither descriptors nor memory")
    func storm() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let good = try await daemon.connect()
            try await storm(against: daemon, connections: 500)
            try await eventually("the others are disconnected") { try await good.result("status")["clients"] == 1 }
            let (descriptors, memory) = (try daemon.openDescriptors(), try daemon.residentKilobytes())
            try await storm(against: daemon, connections: 2_000)
            try await eventually("the others are disconnected") { try await good.result("status")["clients"] == 1 }
            try await eventually("no more descriptors than before") { try daemon.openDescriptors() <= descriptors }
            #expect(try daemon.residentKilobytes() - memory < 16_384)
        }
    }

    private func storm(against daemon: Daemon, connections: Int) async throws {
        for number in 1...connections {
            let client = try await daemon.connect()
            switch number % 4 {
            case 0: try await client.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            case 1: try await client.send(bytes: Array(#"{"jsonrpc":"2.0","id":1,"me"#.utf8))
            case 2: client.finishSending()
            default: break
            }
            client.close()
        }
    }

    @Test("X3: silent peers with a partial line delay neither other clients nor an orderly stop")
    func halfOpen() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            var silent: [LineClient] = []
            for number in 1...50 {
                let client = try await daemon.connect()
                let request = #"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x"}}"#
                try await client.send(bytes: Array(request.utf8.prefix(number)))
                silent.append(client)
            }
            let ids = try await daemon.track(1...20)
            #expect(try await collector.acceptedIDs(atLeast: 20) == ids)
            #expect(try await daemon.stop() == 0)
            for client in silent { while try await client.nextLine() != nil {} }
        }
    }

    @Test("X3: without free descriptors the daemon continues, logs that once, and accepts connections again later")
    func outOfDescriptors() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.launcher = ["/bin/sh", "-c", #"ulimit -n 48; exec "$@""#, "sh"]
            try daemon.configure(["dispatchers": ["archive": ["kind": "file", "path": "e.ndjson"]]])
            try await daemon.start()
            let good = try await daemon.connect()
            #expect(try await good.result("track", ["event": "x"])["seq"] == 1)
            var crowd: [LineClient] = []
            for _ in 1...100 { crowd.append(try await daemon.connect()) }
            try await eventually("a line in the log") { daemon.log.contains("could not accept a connection") }
            #expect(try await good.result("track", ["event": "x"])["seq"] == 2)
            // Each ping is a separate turn of the loop, in which the daemon could try again.
            for _ in 1...200 { _ = try await good.result("ping") }
            #expect(daemon.log.components(separatedBy: "could not accept a connection").count == 2)
            for client in crowd { client.close() }
            let next = try await daemon.connect()
            #expect(try await next.result("track", ["event": "x"])["seq"] == 3)
            #expect(try await good.result("track", ["event": "x"])["seq"] == 4)
        }
    }

    /// Raises the limit of the test process, which also needs a descriptor for each connection.
    private func raiseDescriptorLimit(to count: UInt) throws {
        var limit = rlimit()
        _ = try SystemError.check(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit), "getrlimit")
        guard limit.rlim_cur < count else { return }
        limit.rlim_cur = min(limit.rlim_max, count)
        _ = try SystemError.check(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit), "setrlimit")
    }
}
