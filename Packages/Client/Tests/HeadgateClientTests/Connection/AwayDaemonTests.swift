import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests a client whose daemon does not run, or whose limits are unknown.
@Suite struct AwayDaemonTests {
    private static let denied = ClientError.cannotConnect(path: "s", cause: "permission denied")

    @Test("An error that waiting does not cure ends the calls at once, and the next call tries again")
    func permanent() {
        var scene = MachineScene()
        scene.call()
        scene.apply { $0.couldNotConnect(Self.denied, isPermanent: true, now: $1) }
        #expect(scene.results.map(\.result) == [.failure(Self.denied)])
        #expect(scene.states == [.disconnected(Self.denied), .failed(Self.denied)])
        scene.call()
        #expect(scene.takeOrders() == ["connect", "finish 1", "connect"])
    }

    @Test("After a successful connection the client retries such an error: the daemon may be restarting")
    func permanentLater() {
        var scene = MachineScene()
        scene.call()
        scene.open()
        scene.lose()
        scene.passTime()
        scene.apply { $0.couldNotConnect(Self.denied, isPermanent: true, now: $1) }
        #expect(scene.results.isEmpty)
        scene.passTime()
        scene.open()
        scene.answer(1)
        #expect(scene.results.map(\.result) == [.success("fine")])
        #expect(scene.states == [.connected, .disconnected(.disconnected), .connected])
    }

    @Test("An outage causes one report and one warning; a connection that is restored at once causes no warning")
    func warning() {
        var scene = MachineScene()
        scene.call()
        for _ in 1...5 {
            scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
            scene.passTime()
        }
        #expect(scene.warnings == [.noSocket])
        scene.open()
        scene.lose()
        scene.passTime()
        scene.open()
        #expect(scene.warnings.count == 1)
        #expect(scene.states == [.disconnected(.noSocket), .connected, .disconnected(.disconnected), .connected])
        scene.lose()
        scene.passTime()
        scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        #expect(scene.warnings.count == 2)
    }

    @Test("A client that does not wait fails without a warning")
    func noWarning() {
        var scene = MachineScene { $0.connectTimeout = .zero }
        scene.call()
        scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        #expect(scene.warnings.isEmpty && scene.results.count == 1)
    }

    @Test("By default a call waits 10 seconds for the first connection")
    func firstConnect() {
        #expect(ClientOptions().connectTimeout == .seconds(10))
        #expect(ClientOptions().reconnectTimeout == nil)
    }

    @Test("A call without room before its deadline says so; a written call without an answer has timed out")
    func room() {
        var scene = MachineScene { $0.maxUnanswered = 1 }
        scene.call(within: 50)
        scene.call(within: 40)
        scene.open()
        scene.passTime()
        scene.passTime()
        #expect(scene.results.map(\.result) == [.failure(.noRoom), .failure(.timedOut)])
    }

    @Test("Limits that were lowered during a connection are read again; only lines that exceed them fail")
    func loweredLimits() {
        var scene = MachineScene()
        scene.call("short")
        scene.call("very long indeed")
        scene.call("once", repeatable: false)
        scene.open()
        _ = scene.takeOrders()
        scene.apply { $0.gotAnonymousError(RPCError(.lineTooLong), now: $1) }
        #expect(scene.takeOrders() == ["disconnect", "finish 3"])
        scene.passTime()
        scene.apply { $0.connected(now: $1) }
        scene.apply { machine, now in
            var limits = DaemonLimits()
            limits.lineBytes = 10
            machine.greeted(limits, now: now)
        }
        #expect(scene.takeOrders() == ["connect", "greet", "short1", "finish 2"])
        #expect(scene.results.map(\.result.refusal?.reason) == [nil, .lineTooLong])
    }

    @Test("Repeated errors without an id under the same limits end the written calls")
    func endlessDoubt() {
        var scene = MachineScene()
        scene.call()
        for _ in 1...3 {
            scene.open()
            scene.apply { $0.gotAnonymousError(RPCError(.limit, "too deep"), now: $1) }
            #expect(scene.results.isEmpty)
            scene.passTime()
        }
        scene.open()
        scene.apply { $0.gotAnonymousError(RPCError(.limit, "too deep"), now: $1) }
        #expect(scene.results.map(\.result) == [.failure(.badAnswer("too deep"))])
    }
}
