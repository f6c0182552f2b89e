import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests the machine when connections break.
@Suite struct ReconnectTests {
    @Test("Q7: unacknowledged events are written again on the next connection, in order, before later ones")
    func writtenAgain() {
        var scene = MachineScene()
        for _ in 1...4 { scene.call() }
        scene.open()
        scene.answer(2)
        scene.lose()
        scene.call()
        _ = scene.takeOrders()
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t1", "t3", "t4", "t5"])
    }

    @Test("Q7: the same holds after several losses")
    func manyLosses() {
        var scene = MachineScene()
        for _ in 1...3 { scene.call() }
        for _ in 1...5 {
            scene.open()
            scene.lose()
            _ = scene.takeOrders()
            scene.passTime()
        }
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t1", "t2", "t3"])
        for number: CallNumber in 1...3 { scene.answer(number) }
        #expect(scene.results.map(\.call) == [1, 2, 3])
    }

    @Test("A call that may not be repeated ends with a loss if it was written, else it waits for the connection")
    func notRepeatable() {
        var scene = MachineScene { $0.maxUnanswered = 2 }
        scene.call()
        scene.call("flush", repeatable: false)
        scene.call("pause", repeatable: false)
        scene.open()
        scene.lose()
        #expect(scene.results.map(\.call) == [2])
        #expect(scene.results[0].result == .failure(.disconnected))
        _ = scene.takeOrders()
        scene.passTime()
        scene.open()
        #expect(scene.takeOrders() == ["connect", "greet", "t1", "pause3"])
    }

    @Test("Waits between attempts double up to the cap, are never over it and never under half of it")
    func backoff() {
        var scene = MachineScene()
        scene.call()
        var longest: Int64 = 50_000_000
        for _ in 1...12 {
            scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
            let wait = (scene.machine.nextDeadline ?? 0) - scene.now
            #expect((longest / 2...longest).contains(wait))
            longest = min(longest * 2, 5_000_000_000)
            scene.passTime()
        }
        #expect(scene.takeOrders() == Array(repeating: "connect", count: 13))
    }

    @Test("After each connection that the daemon accepts and drops, the wait is longer")
    func dropper() {
        var scene = MachineScene()
        scene.call()
        var waits: [Int64] = []
        for _ in 1...8 {
            scene.open()
            scene.lose()
            waits.append((scene.machine.nextDeadline ?? 0) - scene.now)
            scene.passTime()
        }
        #expect(waits[7] > 16 * waits[0])
        scene.open()
        scene.call()
        scene.answer(1)
        scene.lose()
        #expect((scene.machine.nextDeadline ?? 0) - scene.now <= 50_000_000)
    }

    @Test(
        "B29: a daemon that greets and drops is abandoned when the patience is over, and an answer renews the patience"
    )
    func patience() throws {
        var scene = MachineScene { $0.reconnectTimeout = .seconds(10) }
        scene.call()
        scene.call()
        scene.open()
        scene.lose()
        var lost = scene.now
        for answered in [1, nil] as [CallNumber?] {
            var attempts = 0
            while let next = scene.machine.nextDeadline, next < lost + 10_000_000_000 {
                attempts += 1
                try #require(attempts < 50, "the waits do not grow")
                scene.passTime()
                scene.open()
                scene.lose()
            }
            #expect(scene.results.count == (answered == nil ? 1 : 0))
            guard let answered else { break }
            scene.passTime()
            scene.open()
            scene.answer(answered)
            lost = scene.now
            scene.lose()
        }
        for _ in 1...3 where scene.results.count < 2 {
            scene.passTime()
            scene.open()
            scene.lose()
        }
        #expect(scene.now == lost + 10_000_000_000)
        #expect(try #require(scene.results.last).result == .failure(.disconnected))
    }

    @Test("Without calls the client reconnects only at the next call")
    func idle() {
        var scene = MachineScene()
        scene.call()
        scene.open()
        scene.answer(1)
        scene.lose()
        #expect(scene.machine.phase == .idle)
        #expect(scene.machine.nextDeadline == nil)
        _ = scene.takeOrders()
        scene.call()
        #expect(scene.takeOrders() == ["connect"])
    }

    @Test("connectTimeout zero: one attempt, then every call ends with cannotConnect; the next call tries again")
    func failsEarly() {
        var scene = MachineScene { $0.connectTimeout = .zero }
        scene.call()
        scene.call()
        scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        #expect(scene.results.map(\.result) == [.failure(.noSocket), .failure(.noSocket)])
        _ = scene.takeOrders()
        scene.call()
        #expect(scene.takeOrders() == ["connect"])
    }

    @Test("connectTimeout: attempts continue until the limit, and the last one is right at the limit")
    func connectTimeout() {
        var scene = MachineScene { $0.connectTimeout = .milliseconds(400) }
        let start = scene.now
        scene.call()
        while scene.results.isEmpty {
            scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
            scene.passTime()
        }
        #expect(scene.now - start == 400_000_000)
        #expect(scene.results[0].result == .failure(.noSocket))
    }

    @Test("connectTimeout is for the first connection, reconnectTimeout for later ones; zero means no waiting")
    func reconnectTimeout() {
        var scene = MachineScene {
            $0.connectTimeout = .zero
            $0.reconnectTimeout = .milliseconds(100)
        }
        scene.call()
        scene.open()
        scene.lose()
        #expect(scene.results.isEmpty)
        while scene.results.isEmpty {
            scene.passTime()
            scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        }
        #expect(scene.results[0].result == .failure(.noSocket))

        var hasty = MachineScene { $0.reconnectTimeout = .zero }
        hasty.call()
        hasty.open()
        hasty.answer(1)
        hasty.call()
        hasty.lose()
        #expect(hasty.results[1].result == .failure(.disconnected))
    }

    @Test("A deadline ends a call that waits for a connection, and says why there was none")
    func deadlineWithoutConnection() {
        var scene = MachineScene()
        scene.call(within: 1_000)
        scene.apply { $0.couldNotConnect(.noSocket, now: $1) }
        scene.passTime()
        #expect(scene.results[0].result == .failure(.noSocket))
        scene.passTime()
        #expect(scene.machine.phase == .idle)
    }

    @Test("A daemon that accepts the connection and does not answer the greeting counts as absent")
    func deafDaemon() {
        var scene = MachineScene()
        scene.call()
        scene.apply { $0.connected(now: $1) }
        _ = scene.takeOrders()
        scene.passTime()
        #expect(scene.takeOrders() == ["disconnect"])
        scene.passTime()
        #expect(scene.takeOrders() == ["connect"])
    }
}
