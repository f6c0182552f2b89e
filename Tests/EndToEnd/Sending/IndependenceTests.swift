import Testing

/// Dispatchers that do not delay each other.
@Suite struct IndependenceTests {
    @Test("With one dead destination the other dispatcher delivers everything")
    func oneDeadDispatcher() async throws {
        try await withScene { scene in
            let (alive, dead) = (try scene.collector(), try scene.collector(listening: false))
            let daemon = try await scene.daemon([
                "dispatchers": ["alive": alive.dispatcher(), "dead": dead.dispatcher()]
            ])
            let ids = try await daemon.track(1...500)
            #expect(try await alive.acceptedIDs(atLeast: 500) == ids)
            try await daemon.dispatcher("alive", until: "an empty queue") {
                $0["pending"].int == 0 && $0["in_flight"].int == 0
            }
            #expect(try await daemon.dispatcher("alive").contains(["state": "open", "sent": 500, "last_error": .null]))
            let held = try await daemon.dispatcher("dead")
            #expect((held["pending"].int ?? 0) + (held["in_flight"].int ?? 0) == 500)
            #expect(held["sent"] == 0)

            // The dead destination recovers and gets every event.
            try dead.listen()
            #expect(try await dead.acceptedIDs(atLeast: 500) == ids)
        }
    }

    @Test("A collector that never answers delays no other dispatcher")
    func oneSilentDispatcher() async throws {
        try await withScene { scene in
            let (alive, silent) = (try scene.collector(), try scene.collector())
            silent.answerAlways(.held)
            // The long timeout prevents a retry of the held batch, however busy the machine is.
            let daemon = try await scene.daemon([
                "dispatchers": ["alive": alive.dispatcher(), "silent": silent.dispatcher(["timeout_ms": 600_000])]
            ])
            let ids = try await daemon.track(1...200)
            #expect(try await alive.acceptedIDs(atLeast: 200) == ids)
            #expect(silent.acceptedIDs.isEmpty)
            silent.release()
            #expect(try await silent.acceptedIDs(atLeast: 200) == ids)
        }
    }

    @Test("Q3: after SIGKILL each dispatcher continues at its own position")
    func ownPositionAfterKill() async throws {
        try await withScene { scene in
            let (fast, slow) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon([
                "dispatchers": ["fast": fast.dispatcher(), "slow": slow.dispatcher()]
            ])
            try await daemon.pause("slow")
            let ids = try await daemon.track(1...30)
            try await daemon.dispatcher("fast", until: "an empty queue") { $0["sent"].int == 30 }
            // The orderly stop writes the position of `fast`. The kill follows after a new start.
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.resume("slow")
            #expect(try await slow.acceptedIDs(atLeast: 30) == ids)
            let more = try await daemon.track(31...31)
            #expect(try await fast.acceptedIDs(atLeast: 31) == ids + more)
        }
    }
}
