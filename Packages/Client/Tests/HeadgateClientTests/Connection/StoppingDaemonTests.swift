import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests the machine when the daemon stops in order or refuses the greeting.
@Suite struct StoppingDaemonTests {
    @Test("After closing no call is written; the client waits for unanswered calls, then connects again")
    func closing() {
        var scene = MachineScene()
        scene.call()
        scene.call()
        scene.open()
        scene.apply { $0.closing(now: $1) }
        scene.call()
        _ = scene.takeOrders()
        scene.answer(1)
        #expect(scene.takeOrders() == ["finish 1"])
        scene.answer(2)
        #expect(scene.takeOrders() == ["finish 2", "leave"])
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t3"])
    }

    @Test("After closing with nothing unanswered it disconnects at once")
    func closingIdle() {
        var scene = MachineScene()
        scene.call()
        scene.open()
        scene.answer(1)
        _ = scene.takeOrders()
        scene.apply { $0.closing(now: $1) }
        #expect(scene.takeOrders() == ["leave"])
        #expect(scene.machine.phase == .idle)
    }

    @Test("Q7: an event that is answered with shutting_down is tracked on the next connection, in its order")
    func shuttingDown() {
        var scene = MachineScene { $0.maxUnanswered = 3 }
        for _ in 1...4 { scene.call() }
        scene.open()
        scene.answer(1)
        scene.refuse(2, RPCError(.shuttingDown))
        scene.refuse(3, RPCError(.shuttingDown))
        _ = scene.takeOrders()
        scene.refuse(4, RPCError(.shuttingDown))
        #expect(scene.takeOrders() == ["leave"])
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t2", "t3", "t4"])
        #expect(scene.results.map(\.call) == [1])
    }

    @Test("A call that may not be repeated fails with shutting_down")
    func shuttingDownOnce() {
        var scene = MachineScene()
        scene.call("flush", repeatable: false)
        scene.open()
        scene.refuse(1, RPCError(.shuttingDown))
        #expect(scene.results[0].result.refusal?.reason == .shuttingDown)
    }

    @Test("After a stopping daemon was found, later calls wait as after a lost connection")
    func foundStoppingBefore() {
        var scene = MachineScene {
            $0.connectTimeout = .zero
            $0.reconnectTimeout = .seconds(10)
        }
        let former = scene.call()
        scene.apply { $0.connected(now: $1) }
        scene.apply { $0.greetingRefused(RPCError(.shuttingDown), now: $1) }
        scene.apply { $0.cancelled(former, now: $1) }
        scene.passTime()
        #expect(scene.machine.phase == .idle)
        scene.call()
        scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        scene.passTime()
        scene.open()
        #expect(scene.results.isEmpty && scene.takeOrders().suffix(3) == ["connect", "greet", "t2"])
    }

    @Test(
        "A daemon that refuses the greeting for the moment is asked again",
        arguments: [
            ErrorReason.shuttingDown, .limit,
        ])
    func greetingRefusedForNow(reason: ErrorReason) {
        var scene = MachineScene()
        scene.call()
        scene.apply { $0.connected(now: $1) }
        scene.apply { $0.gotAnonymousError(RPCError(reason), now: $1) }
        #expect(scene.takeOrders() == ["connect", "greet", "disconnect"])
        scene.passTime()
        #expect(scene.takeOrders() == ["connect"])
        #expect(scene.results.isEmpty)
    }

    @Test("A client waits for a stopping daemon as after a lost connection")
    func foundStopping() {
        var scene = MachineScene {
            $0.connectTimeout = .zero
            $0.reconnectTimeout = .seconds(5)
        }
        scene.call()
        scene.apply { $0.connected(now: $1) }
        scene.apply { $0.closing(now: $1) }
        #expect(scene.takeOrders() == ["connect", "greet", "disconnect"])
        scene.passTime()
        scene.apply { $0.connected(now: $1) }
        scene.apply { $0.greetingRefused(RPCError(.shuttingDown), now: $1) }
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "disconnect", "connect", "greet", "t1"])
        #expect(scene.results.isEmpty)
    }

    @Test("A daemon that refuses the greeting for good ends every call")
    func greetingRefused() {
        var scene = MachineScene()
        scene.call()
        scene.call()
        scene.apply { $0.connected(now: $1) }
        scene.apply { $0.greetingRefused(RPCError(.conflict), now: $1) }
        #expect(scene.results.compactMap(\.result.refusal?.reason) == [.conflict, .conflict])
        #expect(scene.takeOrders() == ["connect", "greet", "disconnect", "finish 1", "finish 2"])
        #expect(scene.machine.phase == .idle)
    }

    @Test("A connection that is lost before the greeting is answered counts as no connection")
    func lostWhileGreeting() {
        var scene = MachineScene { $0.connectTimeout = .zero }
        scene.call()
        scene.apply { $0.connected(now: $1) }
        scene.lose()
        guard case .failure(.cannotConnect) = scene.results[0].result else {
            Issue.record("\(scene.results)")
            return
        }
    }

    @Test("A malformed answer ends the written calls, because repeating them might cause it again; the others go on")
    func nonsense() {
        var scene = MachineScene { $0.maxUnanswered = 1 }
        scene.call()
        scene.call()
        scene.open()
        scene.apply { $0.gotNonsense("what", now: $1) }
        #expect(scene.results.map(\.result) == [.failure(.badAnswer("what"))])
        _ = scene.takeOrders()
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t2"])
    }
}
