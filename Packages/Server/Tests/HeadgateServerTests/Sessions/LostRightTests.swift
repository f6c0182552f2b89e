import HeadgateData
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests that a session closes when its user loses a right that the session's work needs (Behaviour X1).
@Suite("Lost rights", .timeLimit(.minutes(5)))
struct LostRightTests {
    /// The work of a client that needs the right `serve`.
    enum Serving: CaseIterable { case boards, batches, both, nothing }

    @Test(
        "X1: when a user loses the right `serve`, the daemon disconnects its clients that serve boards or work, only",
        arguments: Serving.allCases)
    func serving(what: Serving) async throws {
        let settings: DataObject = ["dispatchers": ["jobs": ["kind": "worker"]]]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            if what == .boards || what == .both { try await client.serve("till") }
            if what == .batches || what == .both { try await client.call("dispatcher.subscribe", ["id": "jobs"]) }
            let other = try await stage.client()
            // The answers show that the daemon has accepted both connections.
            for each in [client, other] { try await each.call("ping") }
            // The client becomes another user's, because the daemon's own user has all rights.
            let ends = try await stage.inspect { service in
                let session = try #require(service.sessions.all.min { $0.number < $1.number })
                let person = PeerCredentials(pid: 1, uid: 45_001, gid: 45_001, groups: [])
                var access = AccessSettings()
                access.serve.uids = [person.uid]
                session.caller = Caller(person, access: access, daemonUID: 0)
                access.serve.uids = []
                session.settingsChanged(access: access, limits: service.settings.limits, hasNewCollectors: false)
                return !session.connection.isWritable
            }
            try #require(ends == (what != .nothing))
            guard what != .nothing else {
                try await client.call("ping")
                #expect(try await stage.inspect { $0.sessions.count } == 2)
                return
            }
            #expect(try await client.notification()["reason"] == "unauthorized")
            try await stage.until { $0.sessions.count == 1 }
            #expect(try await stage.inspect { !$0.boards.isServed("till") })
            #expect(try await other.listedDispatcher("jobs")["id"] == "jobs")
        }
    }
}
