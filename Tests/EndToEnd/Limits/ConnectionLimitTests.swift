import Testing

/// X2: limits on the number of connections.
@Suite struct ConnectionLimitTests {
    @Test("X2: a connection over the limit gets the error limit, is closed and counted, and the others continue")
    func connections() async throws {
        try await refusesTheFourth(["max_connections": 3])
    }

    @Test("X2: a user's connection over the limit gets the error limit, is closed and counted, and the others continue")
    func connectionsOfOneUser() async throws {
        try await refusesTheFourth(["max_connections_per_uid": 3])
    }

    private func refusesTheFourth(_ limits: JSON) async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["limits": limits])
            let clients = [try await daemon.connect(), try await daemon.connect(), try await daemon.connect()]
            for client in clients { #expect(try await client.result("ping") == [:]) }
            for _ in 1...2 {
                let late = try await daemon.connect()
                let error = try await late.message()
                #expect(error["id"] == .null)
                #expect(error["error"]["code"] == -32_000)
                #expect(error["error"]["data"]["reason"] == "limit")
                let message = error["error"]["message"].string ?? ""
                #expect(limits.members.keys.allSatisfy { message.contains($0) }, "\(message)")
                #expect(try await late.nextLine() == nil)
            }
            for client in clients { #expect(try await client.result("ping") == [:]) }
            #expect(try await clients[0].result("status")["counters"]["rejected_connections"] == 2)
            // A closed connection makes room for the next client, and a higher limit applies at once.
            clients[1].close()
            try await eventually("a free connection") { try await clients[0].result("status")["clients"] == 2 }
            let next = try await daemon.connect()
            #expect(try await next.result("ping") == [:])
            let more = limits.members.mapValues { _ in JSON(4) }
            _ = try await next.result("config.set", ["patch": ["limits": .object(more)]])
            #expect(try await daemon.connect().result("ping") == [:])
        }
    }

    @Test("X2: a user's limit does not affect other users", .asOtherUsers)
    func connectionsOfTwoUsers() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            daemon.launcher = ["/usr/bin/setpriv", "--regid=45000", "--clear-groups"]
            try daemon.configure([
                "limits": ["max_connections_per_uid": 1], "dispatchers": ["collect": scene.collector().dispatcher()],
            ])
            try await daemon.start()
            let door = try await scene.doorway(of: Person(uid: 45_001, gid: 45_000), to: daemon)
            let (other, own) = (try await door.connect(), try await daemon.connect())
            #expect(try await other.result("ping") == [:])
            #expect(try await own.result("ping") == [:])
            #expect(try await door.connect().message()["error"]["data"]["reason"] == "limit")
            #expect(try await daemon.connect().message()["error"]["data"]["reason"] == "limit")
            #expect(try await own.result("status")["counters"]["rejected_connections"] == 2)
        }
    }
}
