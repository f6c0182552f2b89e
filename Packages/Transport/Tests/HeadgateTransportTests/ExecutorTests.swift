import Glibc
import HeadgateTransport
import Testing

/// An actor isolated to an event loop.
private actor Counter {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: EventLoop) {
        self.loop = loop
    }

    func add() -> Bool {
        count += 1
        return loop.isCurrent
    }

    func addSlowly(_ times: Int) async {
        for _ in 0..<times {
            _ = add()
            await Task.yield()
        }
    }
}

/// Enters the actor on the calling thread without checking which thread that is.
private func enterFromHere(_ counter: Counter) {
    counter.assumeIsolated { _ = $0.add() }
}

@Suite struct ExecutorTests {
    @Test("B11: an actor on the loop runs on the loop's thread, whichever thread calls it")
    func actorRunsOnLoop() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let counter = Counter(loop: loop)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { await counter.add() } }
            for await isOnLoop in group { #expect(isOnLoop) }
        }
        #expect(await counter.count == 100)
        loop.stop()
        await loop.waitUntilClosed()
    }

    @Test("B11: a callback of the loop enters the actor without waiting")
    func callbackEntersActor() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let counter = Counter(loop: loop)
        let count = await withCheckedContinuation { continuation in
            loop.submit {
                counter.assertIsolated()
                let count = counter.assumeIsolated { counter in
                    _ = counter.add()
                    return counter.count
                }
                continuation.resume(returning: count)
            }
        }
        #expect(count == 1)
        loop.stop()
        await loop.waitUntilClosed()
    }

    @Test("B11: entering the actor from another thread stops the program")
    func foreignThreadIsStopped() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop.onNewThread(named: "test")
            enterFromHere(Counter(loop: loop))
        }
    }

    @Test("tasks that still call the actor after the loop's end do not hang")
    func callsAfterTheEnd() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let counter = Counter(loop: loop)
        let slow = Task { await counter.addSlowly(5000) }
        loop.stop()
        await loop.waitUntilClosed()
        await slow.value
        #expect(await counter.add())
        #expect(await counter.count == 5001)
    }
}
