import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests the machine while the client carries out the daemon's requests.
@Suite struct WorkingMachineTests {
    private func scene() -> MachineScene {
        var scene = MachineScene()
        scene.call("subscribe", persistent: true)
        scene.open()
        scene.answer(1, "{}")
        _ = scene.takeOrders()
        return scene
    }

    @Test("D11: the client answers a stopping daemon's requests before it leaves the connection")
    func answersFirst() {
        var scene = scene()
        scene.apply { machine, _ in machine.requestCame() }
        scene.apply { machine, _ in machine.requestCame() }
        scene.apply { $0.closing(now: $1) }
        scene.apply { $0.requestAnswered(now: $1) }
        #expect(scene.takeOrders().isEmpty)
        scene.apply { $0.requestAnswered(now: $1) }
        #expect(scene.takeOrders() == ["leave", "interrupt 1: \(ClientError.disconnected)"])
    }

    @Test("The next connection does not wait for requests of a lost one")
    func forgotten() {
        var scene = scene()
        scene.apply { machine, _ in machine.requestCame() }
        scene.lose()
        scene.passTime()
        scene.open()
        scene.answer(1, "{}")
        _ = scene.takeOrders()
        scene.apply { $0.closing(now: $1) }
        #expect(scene.takeOrders() == ["leave", "interrupt 1: \(ClientError.disconnected)"])
    }
}
