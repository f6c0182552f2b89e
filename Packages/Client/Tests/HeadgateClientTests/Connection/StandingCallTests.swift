import HeadgateWire
import Testing

@testable import HeadgateClient

/// The machine, with calls that stand: they are made again on each connection.
@Suite struct StandingCallTests {
    @Test("A standing call is granted, and is no more unanswered; the connection is kept for it")
    func granted() {
        var scene = MachineScene()
        scene.call("watch", standing: true)
        scene.open()
        scene.answer(1, "w")
        #expect(scene.takeOrders() == ["connect", "greet", "watch1", "grant 1 w"])
        #expect(scene.machine.unanswered == (0, 0))
        #expect(scene.machine.calls.count == 1)
        #expect(scene.machine.phase == .open)
    }

    @Test("When the connection is lost its caller is told, and it is made again in its order on the next one")
    func madeAgain() {
        var scene = MachineScene()
        scene.call("watch", standing: true)
        scene.open()
        scene.answer(1, "w")
        scene.call()
        _ = scene.takeOrders()
        scene.lose()
        #expect(scene.takeOrders() == ["interrupt 1: \(ClientError.disconnected)"])
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "watch1", "t2"])
        scene.answer(1, "v")
        scene.answer(2)
        #expect(scene.takeOrders() == ["grant 1 v", "finish 2"])
    }

    @Test("A caller is told once of a loss, however many attempts to connect fail")
    func toldOnce() {
        var scene = MachineScene()
        scene.call("watch", standing: true)
        scene.open()
        scene.answer(1, "w")
        scene.lose()
        _ = scene.takeOrders()
        for _ in 1...5 {
            scene.passTime()
            scene.tell { $0.couldNotConnect(.noSocket, now: $1) }
        }
        #expect(scene.takeOrders() == Array(repeating: "connect", count: 5))
    }

    @Test("A daemon that stops in order is left at once, and asked again later")
    func closing() {
        var scene = MachineScene()
        scene.call("watch", standing: true)
        scene.open()
        scene.answer(1, "w")
        _ = scene.takeOrders()
        scene.tell { $0.closing(now: $1) }
        #expect(scene.takeOrders() == ["leave", "interrupt 1: \(ClientError.disconnected)"])
        scene.passTime()
        scene.open()
        scene.refuse(1, RPCError(.shuttingDown))
        #expect(scene.takeOrders() == ["connect", "greet", "watch1", "leave"])
        scene.passTime()
        scene.open()
        scene.answer(1, "v")
        #expect(scene.takeOrders() == ["connect", "greet", "watch1", "grant 1 v"])
    }

    @Test("It ends when it is refused, abandoned, closed, or when the daemon does not come back in time")
    func ends() {
        var scene = MachineScene { $0.reconnectTimeout = .milliseconds(100) }
        for _ in 1...4 { scene.call("watch", standing: true) }
        scene.open()
        for number: CallNumber in 1...3 { scene.answer(number) }
        scene.refuse(4, RPCError(.unauthorized))
        scene.tell { $0.abandoned(1, now: $1) }
        #expect(scene.results.map(\.call) == [4])
        scene.lose()
        while scene.results.count == 1 {
            scene.passTime()
            scene.tell { $0.couldNotConnect(.noSocket, now: $1) }
        }
        #expect(scene.results.dropFirst().map(\.call) == [2, 3])
        #expect(scene.results[1].result == .failure(.noSocket))
        scene.call("watch", standing: true)
        scene.tell { machine, _ in machine.closed() }
        #expect(scene.results.last?.result == .failure(.closed))
        #expect(scene.machine.calls.isEmpty)
        #expect(scene.machine.heldBytes == 0)
    }
}
