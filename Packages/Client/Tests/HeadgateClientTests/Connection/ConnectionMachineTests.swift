import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests the machine without failures.
@Suite struct ConnectionMachineTests {
    @Test("It connects at the first call, greets, and writes when the greeting is answered")
    func beginning() {
        var scene = MachineScene()
        #expect(scene.machine.nextDeadline == nil)
        scene.call()
        #expect(scene.takeOrders() == ["connect"])
        scene.call()
        scene.apply { $0.connected(now: $1) }
        #expect(scene.takeOrders() == ["greet"])
        scene.apply { $0.greeted(DaemonLimits(), now: $1) }
        #expect(scene.takeOrders() == ["t1", "t2"])
    }

    @Test("Many calls are written without waiting for answers, which may come in any order")
    func pipelined() {
        var scene = MachineScene()
        for _ in 1...3 { scene.call() }
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t1", "t2", "t3"])
        for number: CallNumber in [3, 1, 2] { scene.answer(number, "a\(number)") }
        #expect(scene.results.map(\.call) == [3, 1, 2])
        #expect(scene.results.map(\.result) == [.success("a3"), .success("a1"), .success("a2")])
        #expect(scene.machine.calls.isEmpty)
        #expect(scene.machine.heldBytes == 0)
        #expect(scene.machine.unanswered == (0, 0))
    }

    @Test("At the limit of unanswered calls, the next call waits for an answer")
    func boundOfCalls() {
        var scene = MachineScene { $0.maxUnanswered = 2 }
        for _ in 1...4 { scene.call() }
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t1", "t2"])
        #expect(!scene.machine.hasRoom)
        scene.answer(1)
        #expect(scene.takeOrders() == ["finish 1", "t3"])
        scene.answer(3)
        scene.answer(2)
        #expect(scene.takeOrders() == ["finish 3", "t4", "finish 2"])
        #expect(scene.machine.hasRoom)
    }

    @Test("At the limit of unanswered bytes, the next call waits, but one call is always let through")
    func boundOfBytes() {
        var scene = MachineScene { $0.maxUnansweredBytes = 5 }
        scene.call("a very long one ")
        scene.call()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "a very long one 1"])
        scene.answer(1)
        #expect(scene.takeOrders() == ["finish 1", "t2"])
    }

    @Test("A refusal goes to its caller only")
    func refusal() {
        var scene = MachineScene()
        scene.call()
        scene.call()
        scene.open()
        scene.refuse(1, RPCError(.queueFull))
        scene.answer(2)
        #expect(scene.results.map(\.result) == [.failure(.refused(RPCError(.queueFull))), .success("fine")])
    }

    @Test("Answers to unknown or finished calls are ignored")
    func strayAnswer() {
        var scene = MachineScene()
        let call = scene.call()
        scene.open()
        scene.answer(99)
        scene.apply { $0.cancelled(call, now: $1) }
        scene.answer(call)
        #expect(scene.results.isEmpty)
        #expect(scene.machine.phase == .open)
    }

    @Test("A call that is abandoned before it is written is never written")
    func cancelledEarly() {
        var scene = MachineScene()
        scene.call()
        let second = scene.call()
        scene.apply { $0.cancelled(second, now: $1) }
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t1"])
    }

    @Test("A line over the daemon's limit is refused by the client, since the daemon could not name the request")
    func overTheLimits() {
        var scene = MachineScene()
        scene.call("short")
        scene.call("much too long a line")
        scene.call("[[[]]]")
        scene.call("\"[[[[ \\\" [\"")
        scene.apply { $0.connected(now: $1) }
        scene.apply { machine, now in
            var limits = DaemonLimits()
            limits.lineBytes = 15
            limits.depth = 2
            machine.greeted(limits, now: now)
        }
        #expect(
            scene.takeOrders() == ["connect", "greet", "short1", "finish 2", "finish 3", "\"[[[[ \\\" [\"4"])
        #expect(scene.results.map(\.result).compactMap(\.refusal?.reason) == [.lineTooLong, .limit])
    }

    @Test("A deadline ends a call that waits for its answer, and makes room for the next")
    func deadline() {
        var scene = MachineScene { $0.maxUnanswered = 1 }
        scene.call(within: 50)
        scene.call()
        scene.open()
        #expect(scene.machine.nextDeadline == 1_050)
        scene.passTime()
        #expect(scene.takeOrders() == ["connect", "greet", "t1", "finish 1", "t2"])
        #expect(scene.results.map(\.result) == [.failure(.timedOut)])
        #expect(scene.machine.nextDeadline == nil)
    }

    @Test("Closing ends every call, written or not, and later ones")
    func close() {
        var scene = MachineScene { $0.maxUnanswered = 1 }
        scene.call()
        scene.call()
        scene.open()
        scene.apply { machine, _ in machine.closed() }
        scene.call()
        #expect(scene.results.map(\.call) == [1, 2, 3])
        #expect(scene.results.allSatisfy { $0.result == .failure(.closed) })
        #expect(scene.takeOrders().contains("leave"))
        scene.lose()
        #expect(scene.takeOrders().allSatisfy { $0.hasPrefix("finish") })
    }
}

extension Result where Failure == ClientError {
    /// The daemon's error if the daemon refused the call, or nil.
    var refusal: RPCError? {
        guard case .failure(.refused(let error)) = self else { return nil }
        return error
    }
}
