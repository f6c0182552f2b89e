import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests the probe, which runs only while the kernel reports no connection.
@Suite(.timeLimit(.minutes(5)))
struct NetworkProbeTests {
    @Test(
        "B21: any HTTP answer counts as a connection",
        arguments: ["200 OK", "204 No Content", "301 Moved", "404 Not Found", "503 Busy"])
    func anyAnswer(line: String) async throws {
        let server = try ScriptedServer { _ in .status(line) }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .state(.connected(.other)))
            #expect(server.requests.map(\.method) == ["GET"])
        }
    }

    @Test("B21: the probe sends a request every interval until the first answer")
    func everyInterval() async throws {
        let left = Guarded(2)
        let server = try ScriptedServer { _ in
            let isMute = left.withLock { left in
                left -= 1
                return left >= 0
            }
            return isMute ? .last("") : .ok
        }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .waits(.seconds(30)))
            await stage.advance(by: .seconds(29))
            #expect(server.requests.count == 1)
            await stage.advance(by: .seconds(1))
            #expect(await events.next() == .waits(.seconds(30)))
            await stage.advance(by: .seconds(30))
            #expect(await events.next() == .state(.connected(.other)))
            #expect(await !stage.isWaiting)
            #expect(server.requests.count == 3)
        }
    }

    @Test(
        "B21: an answer that is not HTTP, or takes too long, does not count",
        arguments: [.last("SSH-2.0-x\r\n"), .silence] as [ScriptedReply])
    func noAnswer(reply: ScriptedReply) async throws {
        let server = try ScriptedServer { _ in reply }
        try await ProbeStage.run(server, timeout: .milliseconds(100)) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .waits(.seconds(30)))
        }
    }

    @Test("B21: while the kernel reports a connection, the probe sends no request", arguments: ConnectionKind.allCases)
    func connected(kind: ConnectionKind) async throws {
        let server = try ScriptedServer { _ in .ok }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.connected(kind))
            #expect(await events.next() == .state(.connected(kind)))
            #expect(await !stage.isWaiting)
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .state(.connected(.other)))
            #expect(server.requests.count == 1)
        }
    }

    @Test("B21: the next netlink event revokes the probe's result, and the next request keeps the interval")
    func takenBack() async throws {
        let server = try ScriptedServer { _ in .ok }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .state(.connected(.other)))

            await stage.advance(by: .seconds(12))
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .waits(.seconds(18)))
            await stage.advance(by: .seconds(18))
            #expect(await events.next() == .state(.connected(.other)))

            // A long time after the last request the next one is sent at once.
            await stage.advance(by: .seconds(40))
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .state(.connected(.other)))
            #expect(server.requests.count == 3)
        }
    }

    @Test("B21: many netlink events cause as many requests as one")
    func manyEvents() async throws {
        let server = try ScriptedServer { _ in .last("") }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            for _ in 0..<100 { await stage.kernelReports(.disconnected) }
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .waits(.seconds(30)))
            for _ in 0..<100 { await stage.kernelReports(.disconnected) }
            await stage.advance(by: .seconds(30))
            #expect(await events.next() == .waits(.seconds(30)))
            #expect(server.requests.count == 2)
        }
    }

    @Test("B21: a connection that the kernel reports cancels the current request and the next one")
    func connectionEndsChecks() async throws {
        let isFirst = Guarded(true)
        let requested = Rendezvous(of: 2)
        let server = try ScriptedServer { _ in
            let isMute = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if isMute { requested.arrive() }
            return isMute ? .silence : .last("")
        }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            // If this request ended before it reached the server, the server's silence would apply to the next request.
            await requested.wait()
            await stage.kernelReports(.connected(.wifi))
            #expect(await events.next() == .state(.connected(.wifi)))
            #expect(await !stage.isWaiting)

            await stage.advance(by: .seconds(30))
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .waits(.seconds(30)))
            await stage.kernelReports(.connected(.wifi))
            #expect(await events.next() == .state(.connected(.wifi)))
            #expect(await !stage.isWaiting)
        }
    }

    @Test("B21: a monitor that ends cancels the next request")
    func gone() async throws {
        let server = try ScriptedServer { _ in .last("") }
        try await ProbeStage.run(server) { stage in
            var events = stage.events.makeAsyncIterator()
            await stage.kernelReports(.disconnected)
            #expect(await events.next() == .state(.disconnected))
            #expect(await events.next() == .waits(.seconds(30)))
            #expect(await stage.isWaiting)
            await stage.forgetMonitor()
            #expect(await !stage.isWaiting)
        }
    }
}
