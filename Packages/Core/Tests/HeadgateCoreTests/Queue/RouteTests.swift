import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Tests of the limit on routes, and of dropping routes that no event needs (Behaviour X2, Q6).
@Suite("Routes")
struct RouteTests {
    private static let ids = (0..<16).map { "d\($0)" }

    /// Returns the dispatchers selected by the bits of a number.
    private func set(_ bits: Int) -> [String] {
        Self.ids.indices.filter { bits & 1 << $0 != 0 }.map { Self.ids[$0] }
    }

    /// Creates sixteen dispatchers whose batches are delivered at once.
    private func bench() -> GateBench {
        GateBench(Self.ids.map(DispatcherSettings.init(id:)), reply: { _ in .delivered })
    }

    private func hold(_ bench: GateBench) -> SwitchBarrier {
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "hold", scopes: [.all])
        return barrier
    }

    @Test("X2: routes are dropped when all their events are delivered")
    func deliveredSetsAreForgotten() throws {
        let bench = bench()
        for bits in 1..<5_000 {
            #expect(bench.track(EventDraft(dispatchers: set(bits))) != nil)
            if bits.isMultiple(of: 50) { bench.settle() }
        }
        bench.settle()
        #expect(bench.gate.stored == .zero)
        #expect(bench.gate.events.routes.count <= 1_200)
        #expect(try bench.store.open().routes.count <= 1_200)
        #expect(bench["d0"].delivered.count == 2_500)
    }

    @Test("X2: at most `most` routes exist at once, known ones are accepted, and delivery makes room")
    func bounded() throws {
        let bench = bench()
        bench.gate.events.routes.most = 100
        let barrier = hold(bench)
        let admitted = (1...200).filter { bench.track(EventDraft(dispatchers: set($0))) != nil }
        #expect(bench.gate.events.routes.count == 100)
        #expect((80..<100).contains(admitted.count))
        // The next turn drops routes without events, such as those created while the dispatchers were added one by one.
        bench.settle()
        for bits in 201...250 { bench.track(EventDraft(dispatchers: set(bits))) }
        #expect(bench.gate.events.routes.count == 100)
        bench.settle()
        #expect(bench.gate.events.routes.count == 100)
        #expect(throws: TooManyRoutes.self) { try bench.gate.route(narrowedTo: set(300)) }
        #expect(try bench.gate.route(narrowedTo: set(admitted[0])) != nil)
        #expect(try bench.gate.route(narrowedTo: nil) == bench.gate.dispatchers.routeToAll)
        barrier.set(.open)
        bench.settle()
        #expect(bench.gate.stored == .zero)
        #expect(bench.track(EventDraft(dispatchers: set(300))) != nil)
    }

    @Test("X2: routes from load rules are bounded as well")
    func byLoadRules() throws {
        let bench = GateBench(
            Self.ids.enumerated().map { index, id in
                var settings = DispatcherSettings(id: id)
                settings.loadRule = .just(.equals(ignoreCase: false, variable: EventPath("b\(index)"), target: "1"))
                return settings
            })
        bench.gate.events.routes.most = 100
        var (taken, refused) = (0, 0)
        for bits in 1...300 {
            var data: DataObject = [:]
            for index in Self.ids.indices { data["b\(index)"] = .string(bits & 1 << index != 0 ? "1" : "0") }
            let event = EventDocument(members: ["event": "x", "data": .object(data)])
            do throws(TooManyRoutes) {
                let route = try bench.gate.route(bench.gate.dispatchers.routeToAll, for: event)
                #expect(bench.gate.events.routes.dispatchers(of: route).count == bits.nonzeroBitCount)
                taken += 1
            } catch {
                refused += 1
            }
        }
        #expect(bench.gate.events.routes.count == 100)
        #expect(taken < 100)
        #expect(taken + refused == 300)
        // No event uses any of the routes, so the next turn drops them.
        bench.settle()
        #expect(bench.gate.events.routes.count < 10)
        #expect(try bench.gate.route(narrowedTo: set(0x155)) != nil)
    }

    @Test("Q3: routes of pending events are kept: events go to their dispatchers, even after a restart")
    func waitingSetsStay() throws {
        let bench = bench()
        let barrier = hold(bench)
        for bits in 1...60 { bench.track(EventDraft(dispatchers: set(bits << 8))) }
        bench.settle()
        bench.gate.events.routes.most = 70
        barrier.set(.open)
        bench.settle()
        #expect(bench.gate.events.routes.count < 20)
        barrier.set(.closed)
        let admitted = (1...90).filter { bench.track(EventDraft(dispatchers: set($0))) != nil }
        bench.settle()
        let delivered = Self.ids.map { bench[$0].delivered.count }
        try bench.restart()
        for (index, id) in Self.ids.enumerated() {
            let first = (1...60).count { ($0 << 8) & 1 << index != 0 }
            let second = admitted.count { $0 & 1 << index != 0 }
            #expect(delivered[index] == first)
            #expect(bench[id].delivered.count == second)
        }
        #expect(admitted.count > 40)
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q3, Q8: a route that is new in the third of three failed groups is stored with the next group that needs it")
    func newInAGroupThatFails() throws {
        let bench = bench()
        bench.settle()
        bench.store.holdsAppends = true
        bench.store.memory.fault = .noRoom("full")
        for dispatchers in [["d1"], ["d2"], ["d3"]] {
            bench.track(EventDraft(dispatchers: dispatchers))
            bench.settle()
        }
        bench.store.memory.fault = nil
        bench.store.holdsAppends = false
        bench.settle()
        #expect(bench.gate.stored == .zero)
        _ = hold(bench)
        for dispatchers in [["d1"], ["d2"], ["d3"]] { bench.track(EventDraft(dispatchers: dispatchers)) }
        bench.settle()
        try bench.restart()
        #expect(["d1", "d2", "d3"].map { bench[$0].delivered.count } == [1, 1, 1])
    }

    @Test("No route number is used twice, even across restarts, and numbers wrap around")
    func numbers() throws {
        var table = RouteTable()
        let first = table.number(of: [1])
        let second = table.number(of: [2])
        #expect(table.takeUnsaved().count == 2)
        #expect(table.forget { _ in false } == [first])
        #expect(table.dispatchers(of: first) == [])
        #expect(table.number(of: [1]) > second)

        var last = RouteTable(saved: [1: [1], .max - 1: [2], .max: [3]])
        #expect(last.number(of: [4]) == 2)
        #expect(last.number(of: [1]) == 1)
        #expect(last.dispatchers(of: RouteTable.noDispatcher) == [])
    }

    @Test("Routes unknown to the store are not dropped there, and routes that it could not store are in the next group")
    func unsaved() {
        var table = RouteTable()
        _ = (table.number(of: [1]), table.number(of: [2]))
        #expect(table.forget { _ in false } == [])
        let taken = table.takeUnsaved()
        #expect(taken == [2: [2]])
        let next = table.number(of: [3])
        _ = table.number(of: [4])
        #expect(table.forget { $0 == next } == [2])
        table.restoreUnsaved(taken)
        #expect(table.takeUnsaved() == [3: [3], 4: [4]])
    }
}
