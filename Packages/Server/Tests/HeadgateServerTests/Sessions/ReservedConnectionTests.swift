import HeadgateTransport
import Testing

@testable import HeadgateServer

@Suite("Reserved connections", .timeLimit(.minutes(5)))
struct ReservedConnectionTests {
    private func caller(_ uid: UInt32) -> Caller {
        Caller(PeerCredentials(pid: 7, uid: uid, gid: uid, groups: []), access: AccessSettings(), daemonUID: 1)
    }

    @Test("X2: the last 16 connections are reserved for root, the daemon's user and users without a connection")
    func reserved() async throws {
        try await ServiceStage.run(["limits": ["max_connections": 64]]) { stage in
            let clients = try await connected(48, to: stage)
            let answers = try await stage.inspect { service in
                for session in service.sessions.all.prefix(1) { service.sessions.count(session, as: 4711) }
                return [0, 1, 4712, 4711].map { service.sessions.hasRoom(for: caller($0)) }
            }
            #expect(answers == [true, true, true, false])
            withExtendedLifetime(clients) {}
        }
    }

    private func connected(_ count: Int, to stage: ServiceStage) async throws -> [LineClient] {
        var clients: [LineClient] = []
        for _ in 1...count {
            let client = try await stage.client()
            try await client.call("ping")
            clients.append(client)
        }
        return clients
    }

    @Test(
        "X2: a small limit of connections has a smaller reserve, and a limit of one has none",
        arguments: [
            (4096, 16), (64, 16), (8, 2), (3, 0), (1, 0),
        ])
    func small(most: Int, reserve: Int) {
        var limits = Limits()
        limits.maxConnections = most
        #expect(limits.reservedConnections == reserve)
    }
}

extension SessionRegistry {
    /// Counts a session as a connection of another user, in addition to its own user.
    fileprivate func count(_ session: Session, as uid: UInt32) {
        session.caller = Caller(
            PeerCredentials(pid: 7, uid: uid, gid: uid, groups: []), access: AccessSettings(), daemonUID: 1)
        add(session)
    }
}
