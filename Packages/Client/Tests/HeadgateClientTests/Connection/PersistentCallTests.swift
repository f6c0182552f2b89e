import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests persistent calls, which the machine makes again on each connection.
@Suite struct PersistentCallTests {
    @Test("A granted persistent call no longer counts as unanswered, and keeps the connection open")
    func granted() {
        var scene = MachineScene()
        scene.call("watch", persistent: true)
        scene.open()
        scene.answer(1, "w")
        #expect(scene.takeOrders() == ["connect", "greet", "watch1", "grant 1 w"])
        #expect(scene.machine.unanswered == (0, 0))
        #expect(scene.machine.calls.count == 1)
        #expect(scene.machine.phase == .open)
    }

    @Test("The caller is notified when the connection is lost, and the call is repeated in its order on the next one")
    func madeAgain() {
        var scene = MachineScene()
        scene.call("watch", persistent: true)
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

    @Test("A caller is notified once of a loss, however many attempts to connect fail")
    func reportedOnce() {
        var scene = MachineScene()
        scene.call("watch", persistent: true)
        scene.open()
        scene.answer(1, "w")
        scene.lose()
        _ = scene.takeOrders()
        for _ in 1...5 {
            scene.passTime()
            scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        }
        #expect(scene.takeOrders() == Array(repeating: "connect", count: 5))
    }

    @Test("The client leaves a stopping daemon at once, and repeats the call later")
    func closing() {
        var scene = MachineScene()
        scene.call("watch", persistent: true)
        scene.open()
        scene.answer(1, "w")
        _ = scene.takeOrders()
        scene.apply { $0.closing(now: $1) }
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

    @Test("A persistent call ends by a refusal, an abandonment, a close, or a daemon that does not return in time")
    func ends() {
        var scene = MachineScene { $0.reconnectTimeout = .milliseconds(100) }
        for _ in 1...4 { scene.call("watch", persistent: true) }
        scene.open()
        for number: CallNumber in 1...3 { scene.answer(number) }
        scene.refuse(4, RPCError(.unauthorized))
        scene.apply { $0.cancelled(1, now: $1) }
        #expect(scene.results.map(\.call) == [4])
        scene.lose()
        while scene.results.count == 1 {
            scene.passTime()
            scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        }
        #expect(scene.results.dropFirst().map(\.call) == [2, 3])
        #expect(scene.results[1].result == .failure(.noSocket))
        scene.call("watch", persistent: true)
        scene.apply { machine, _ in machine.closed() }
        #expect(scene.results.last?.result == .failure(.closed))
        #expect(scene.machine.calls.isEmpty)
        #expect(scene.machine.heldBytes == 0)
    }

    /// Returns a client that has made a granted call again on its second connection.
    private func reconnected(after name: String) -> MachineScene {
        var scene = MachineScene { $0.backoffCap = .seconds(3) }
        scene.call(name, persistent: true)
        scene.open()
        scene.answer(1)
        scene.lose()
        scene.passTime()
        scene.open()
        _ = scene.takeOrders()
        return scene
    }

    @Test(
        "A call that was granted and is now a conflict is repeated: the daemon may know the old connection")
    func conflict() {
        var scene = reconnected(after: "register")
        let refusal = scene.now
        scene.refuse(1, RPCError(.conflict))
        #expect(scene.takeOrders().isEmpty)
        scene.passTime()
        #expect(scene.now == refusal + 3_000_000_000)
        #expect(scene.takeOrders() == ["register1"])
        scene.answer(1, "again")
        #expect(scene.takeOrders() == ["grant 1 again"])
        #expect(scene.machine.nextDeadline == nil)
        // A conflict on the first attempt is final.
        scene.call("register", persistent: true)
        scene.refuse(2, RPCError(.conflict))
        #expect(scene.results.map(\.call) == [2])
    }

    @Test("A refusal on a later connection causes one warning, and the call is repeated until it is granted")
    func refusedLater() {
        var scene = reconnected(after: "subscribe")
        let refusal = scene.now
        scene.refuse(1, RPCError(.notFound, "no dispatcher jobs"))
        #expect(scene.takeOrders() == ["warn 1: no dispatcher jobs"])
        scene.passTime()
        #expect(scene.now == refusal + 3_000_000_000)
        scene.refuse(1, RPCError(.notFound, "no dispatcher jobs"))
        #expect(scene.takeOrders() == ["subscribe1"])
        scene.passTime()
        scene.answer(1, "again")
        #expect(scene.takeOrders() == ["subscribe1", "grant 1 again"])
        #expect(scene.results.isEmpty && scene.machine.nextDeadline == nil)
        // The next outage causes another warning.
        scene.lose()
        scene.passTime()
        scene.open()
        _ = scene.takeOrders()
        scene.refuse(1, RPCError(.notFound, "gone"))
        #expect(scene.takeOrders() == ["warn 1: gone"])
    }

    @Test("A call that the daemon may grant after its deadline is undone; one that was never written is not")
    func givenBack() {
        var scene = MachineScene { $0.maxUnanswered = 1 }
        scene.call("register", persistent: true, within: 500)
        scene.call("register", persistent: true, within: 400)
        scene.open()
        _ = scene.takeOrders()
        scene.passTime()
        #expect(scene.takeOrders() == ["finish 2"])
        scene.passTime()
        #expect(scene.takeOrders() == ["give back 1", "finish 1"])
    }

    @Test("A granted call is repeated if the daemon may have replaced it")
    func renewed() {
        var scene = MachineScene()
        scene.call("register", persistent: true)
        scene.open()
        scene.apply { $0.renewed(1, now: $1) }
        scene.answer(1)
        _ = scene.takeOrders()
        scene.apply { $0.renewed(1, now: $1) }
        scene.apply { $0.renewed(1, now: $1) }
        #expect(scene.takeOrders() == ["register1"])
        scene.answer(1, "again")
        #expect(scene.takeOrders() == ["grant 1 again"])
        #expect(scene.machine.unanswered == (0, 0))
    }

    @Test("A postponed request ends with the connection, and with its caller")
    func postponed() {
        var scene = MachineScene()
        for _ in 1...2 { scene.call("register", persistent: true) }
        scene.open()
        for number: CallNumber in 1...2 { scene.answer(number) }
        scene.lose()
        scene.passTime()
        scene.open()
        for number: CallNumber in 1...2 { scene.refuse(number, RPCError(.conflict)) }
        scene.apply { $0.cancelled(2, now: $1) }
        _ = scene.takeOrders()
        scene.lose()
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "register1"])
        scene.refuse(1, RPCError(.conflict))
        scene.apply { $0.cancelled(1, now: $1) }
        #expect(scene.machine.nextDeadline == nil)
        #expect(scene.machine.heldBytes == 0)
    }

    @Test("A changed request is sent on the next connection in its latest form")
    func changed() {
        var scene = MachineScene()
        scene.call("register", persistent: true)
        scene.open()
        scene.answer(1)
        _ = scene.takeOrders()
        scene.apply { machine, _ in machine.changed(1, to: Array("register1\nset\n".utf8)) }
        scene.apply { machine, _ in machine.changed(7, to: []) }
        #expect(scene.takeOrders().isEmpty)
        scene.lose()
        scene.passTime()
        scene.open()
        #expect(
            scene.takeOrders() == ["interrupt 1: \(ClientError.disconnected)", "connect", "greet", "register1\nset"])
        #expect(scene.machine.unanswered == (1, 14))
        // The call changes before its answer arrives.
        scene.apply { machine, _ in machine.changed(1, to: Array("register1\n".utf8)) }
        #expect(scene.machine.unanswered == (1, 10))
        scene.answer(1)
        #expect(scene.machine.unanswered == (0, 0))
        scene.apply { $0.cancelled(1, now: $1) }
        #expect(scene.machine.heldBytes == 0)
    }

    @Test("A deadline is for the first grant only")
    func deadline() {
        var scene = MachineScene()
        scene.call("watch", persistent: true, within: 500)
        scene.call("board", persistent: true, within: 700)
        scene.open()
        scene.answer(1)
        #expect(scene.machine.nextDeadline == scene.now + 700)
        scene.passTime()
        #expect(scene.results.map(\.call) == [2])
        #expect(scene.results[0].result == .failure(.timedOut))
        #expect(scene.machine.nextDeadline == nil)
    }

    @Test("Each line of a call of several lines is checked against the daemon's limits")
    func lines() {
        var scene = MachineScene()
        scene.call("register", persistent: true)
        scene.apply { machine, _ in machine.changed(1, to: Array("0123456789\n0123456789\n".utf8)) }
        scene.apply { $0.connected(now: $1) }
        scene.apply { machine, now in
            var limits = DaemonLimits()
            limits.lineBytes = 10
            machine.greeted(limits, now: now)
        }
        #expect(scene.takeOrders() == ["connect", "greet", "0123456789\n0123456789"])
    }
}
