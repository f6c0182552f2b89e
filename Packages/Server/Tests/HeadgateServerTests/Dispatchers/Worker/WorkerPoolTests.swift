import HeadgateCore
import HeadgateSeeds
import Testing

@testable import HeadgateServer

/// Tests the state machine that distributes batches among subscribed workers.
@Suite struct WorkerPoolTests {
    /// A pool with a manual clock. Batches are numbered from 1.
    private struct Scene {
        var pool = WorkerPool(lease: .seconds(30))
        var now = Instant(nanoseconds: 0)
        private var lastBatch = 0

        mutating func subscribe(_ subscriber: Int, credit: Int = 1, limit: Int = .max) {
            pool.subscribed(subscriber, credit: credit, mostEvents: limit)
        }

        mutating func take(events: Int = 1) {
            lastBatch += 1
            pool.took(lastBatch, events: events, now: now)
        }

        mutating func leave(_ subscriber: Int) {
            pool.gone(subscriber)
        }

        mutating func wait(_ duration: Duration) {
            now = now + duration
            pool.timePassed(now)
        }

        mutating func orders() -> [WorkerPool.Order] {
            var orders: [WorkerPool.Order] = []
            while let order = pool.nextOrder() { orders.append(order) }
            return orders
        }
    }

    private func late(_ batch: Int, _ subscriber: Int, milliseconds: Int = 30_000) -> WorkerPool.Order {
        .lose(batch, by: subscriber, cause: "no answer from a worker within \(milliseconds) ms")
    }

    private func away(_ batch: Int, _ subscriber: Int) -> WorkerPool.Order {
        .lose(batch, by: subscriber, cause: "the worker disconnected")
    }

    @Test("K3: batches rotate among the workers that have credit")
    func turns() {
        var scene = Scene()
        scene.subscribe(1, credit: 2)
        scene.subscribe(2)
        #expect(scene.pool.capacity == SenderCapacity(batches: 3))
        for _ in 1...3 { scene.take() }
        #expect(scene.orders() == [.give(1, to: 1, as: 1), .give(2, to: 2, as: 2), .give(3, to: 1, as: 3)])
        #expect(scene.pool.capacity.batches == 3)
        #expect(scene.pool.answered(3) == 3)
        #expect(scene.pool.answered(2) == 2)
        scene.take()
        #expect(scene.orders() == [.give(4, to: 2, as: 4)])
    }

    @Test("K3: no worker gets more than its credit, and without credit no batch is taken")
    func credit() {
        var scene = Scene()
        #expect(scene.pool.capacity.batches == 0)
        #expect(!scene.pool.isAttended)
        scene.take()
        #expect(scene.orders() == [.end(1, .returned(cause: "no worker is free"))])
        scene.subscribe(1)
        scene.take()
        scene.take()
        #expect(scene.orders() == [.give(2, to: 1, as: 1), .end(3, .returned(cause: "no worker is free"))])
        #expect(scene.pool.isAttended)
    }

    @Test("X2, K3: a worker with too much unread output gets no batch until it has read all, and counts as busy")
    func overfull() {
        var scene = Scene()
        scene.subscribe(1, credit: 5)
        scene.take()
        scene.pool.overfull(1)
        #expect(scene.pool.capacity.batches == 1)
        #expect(scene.pool.isAttended)
        scene.subscribe(2)
        scene.take()
        scene.leave(2)
        #expect(
            scene.orders() == [.give(1, to: 1, as: 1), .give(2, to: 2, as: 2), away(2, 2), .release(2)])
        #expect(scene.pool.drained(1) == true)
        #expect(scene.pool.drained(1) == false)
        #expect(scene.pool.drained(2) == false)
        #expect(scene.pool.capacity.batches == 5)
    }

    @Test("K3: the next batch has at most as many events as its worker accepts")
    func limits() {
        var scene = Scene()
        scene.subscribe(1, limit: 2)
        scene.subscribe(2, limit: 5)
        #expect(scene.pool.capacity.events == 2)
        scene.take(events: 2)
        #expect(scene.pool.capacity.events == 5)
        scene.take(events: 5)
        #expect(scene.orders() == [.give(1, to: 1, as: 1), .give(2, to: 2, as: 2)])
        #expect(scene.pool.capacity.events == .max)
        #expect(scene.pool.answered(1) == 1)
        scene.leave(2)
        #expect(scene.orders() == [away(2, 2), .release(2)])
    }

    @Test("K3: a worker that disconnects loses all its batches")
    func gone() {
        var scene = Scene()
        scene.subscribe(1, credit: 2)
        scene.take()
        scene.take()
        scene.subscribe(2)
        _ = scene.orders()
        scene.leave(1)
        #expect(scene.orders() == [away(1, 1), away(2, 1), .release(1)])
        #expect(scene.pool.answered(1) == nil)
        scene.leave(1)
        #expect(scene.orders().isEmpty)
    }

    @Test("K3: a worker whose lease has expired gets no batch while another worker is free")
    func hung() {
        var scene = Scene()
        scene.subscribe(1, credit: 9)
        scene.take()
        scene.subscribe(2, credit: 2)
        scene.wait(.seconds(30))
        for _ in 1...3 { scene.take() }
        #expect(
            scene.orders() == [
                .give(1, to: 1, as: 1), late(1, 1), .give(2, to: 2, as: 2), .give(3, to: 2, as: 3),
                .give(4, to: 1, as: 4),
            ])
    }

    @Test("K3: a worker whose lease expires loses the batch; a late answer does not count, and frees credit")
    func lease() {
        var scene = Scene()
        scene.subscribe(1)
        scene.take()
        scene.subscribe(2)
        _ = scene.orders()
        #expect(scene.pool.nextDeadline == scene.now + .seconds(30))
        scene.wait(.milliseconds(29_999))
        #expect(scene.orders().isEmpty)
        scene.wait(.milliseconds(1))
        #expect(scene.orders() == [late(1, 1)])
        scene.take()
        #expect(scene.orders() == [.give(2, to: 2, as: 2)])
        #expect(scene.pool.capacity.batches == 1)
        scene.wait(.seconds(30))
        #expect(scene.orders() == [late(2, 2)])
        #expect(scene.pool.capacity.batches == 0)
        #expect(!scene.pool.isAttended)
        #expect(scene.pool.nextDeadline == nil)
        #expect(scene.pool.answered(1) == nil)
        #expect(scene.pool.isAttended)
        #expect(scene.pool.capacity.batches == 1)
    }

    @Test("K3: a new lease applies to batches that are given out after the change")
    func otherLease() {
        var scene = Scene()
        scene.subscribe(1, credit: 2)
        scene.take()
        scene.pool.lease = .seconds(1)
        scene.take()
        _ = scene.orders()
        scene.wait(.seconds(1))
        #expect(scene.orders() == [late(2, 1, milliseconds: 1_000)])
        scene.wait(.seconds(29))
        #expect(scene.orders() == [late(1, 1)])
    }

    @Test("A worker that unsubscribes gets no further batches, and is released once its batches are settled")
    func unsubscribe() {
        var scene = Scene()
        scene.subscribe(1, credit: 3)
        scene.take()
        scene.take()
        _ = scene.orders()
        scene.pool.unsubscribed(1)
        #expect(scene.orders().isEmpty)
        #expect(scene.pool.capacity.batches == 2)
        #expect(!scene.pool.isAttended)
        #expect(!scene.pool.hasSubscribers)
        #expect(scene.pool.answered(1) == 1)
        #expect(scene.orders().isEmpty)
        scene.wait(.seconds(30))
        #expect(scene.orders() == [late(2, 1), .release(1)])
        #expect(scene.pool.isEmpty)
        scene.subscribe(2)
        scene.pool.unsubscribed(2)
        #expect(scene.orders() == [.release(2)])
    }

    @Test("Subscribing again replaces credit and limit, and revokes an unsubscription")
    func again() {
        var scene = Scene()
        scene.subscribe(1, credit: 4)
        for _ in 1...2 { scene.take() }
        _ = scene.orders()
        scene.subscribe(1, credit: 1, limit: 3)
        #expect(scene.pool.capacity.batches == 2)
        #expect(scene.pool.answered(1) == 1)
        #expect(scene.pool.capacity.batches == 1)
        #expect(scene.pool.answered(2) == 2)
        #expect(scene.pool.capacity == SenderCapacity(batches: 1, events: 3))
        scene.take()
        scene.pool.unsubscribed(1)
        scene.subscribe(1, credit: 2)
        #expect(scene.orders() == [.give(3, to: 1, as: 3), .release(1)])
        #expect(scene.pool.capacity.batches == 2)
    }

    @Test("D11: interrupting ends all batches in flight, each once")
    func interrupted() {
        var scene = Scene()
        scene.subscribe(1)
        scene.subscribe(2)
        scene.take()
        scene.take()
        _ = scene.orders()
        scene.pool.interrupted()
        scene.pool.interrupted()
        #expect(scene.orders() == [.end(1, .interrupted), .end(2, .interrupted)])
        #expect(scene.pool.answered(1) == nil)
    }

    @Test("Every batch ends once, in random histories", arguments: Seeds.first(100))
    func chance(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var pool = WorkerPool(lease: .seconds(5))
        var now = Instant(nanoseconds: 0)
        var (taken, open, leases) = (0, Set<Int>(), [Int: Int]())
        for _ in 0..<300 {
            let subscriber = Int.random(in: 1...4, using: &random)
            switch Int.random(in: 0...9, using: &random) {
            case 0: pool.subscribed(subscriber, credit: .random(in: 1...3, using: &random), mostEvents: 5)
            case 1: pool.unsubscribed(subscriber)
            case 2: pool.gone(subscriber)
            case 3: now = now + .seconds(Int.random(in: 0...4, using: &random))
            case 4, 5, 6:
                if let leaseID = leases.keys.randomElement(using: &random) {
                    let batch = leases.removeValue(forKey: leaseID)
                    if let answered = pool.answered(leaseID) {
                        #expect(answered == batch)
                        #expect(open.remove(answered) != nil)
                    }
                }
            default:
                guard pool.capacity.batches > open.count else { continue }
                taken += 1
                open.insert(taken)
                pool.took(taken, events: min(5, pool.capacity.events), now: now)
            }
            pool.timePassed(now)
            while let order = pool.nextOrder() {
                switch order {
                case .give(let batch, _, let leaseID):
                    #expect(open.contains(batch))
                    leases[leaseID] = batch
                case .end(let batch, _), .lose(let batch, _, _): #expect(open.remove(batch) != nil)
                case .release: break
                }
            }
            #expect(pool.capacity.batches >= open.count, "\(seed)")
        }
        pool.interrupted()
        while let order = pool.nextOrder() { if case .end(let batch, _) = order { open.remove(batch) } }
        #expect(open.isEmpty, "\(seed)")
    }
}
