import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Routing by load rules")
struct LoadRoutingTests {
    private func rule(_ name: String) -> Rule {
        .just(.equals(ignoreCase: false, variable: "event", target: name))
    }

    /// Creates three dispatchers: `all` without a rule, `orders` and `premium` with one rule each.
    private func bench() throws -> GateBench {
        var orders = DispatcherSettings(id: "orders")
        orders.loadRule = .reference("is_order")
        var premium = DispatcherSettings(id: "premium")
        premium.loadRule = .and([
            .reference("is_order"), .just(.equals(ignoreCase: false, variable: "plan", target: "pro")),
        ])
        let bench = GateBench([DispatcherSettings(id: "all"), orders, premium])
        try bench.gate.loadRules.set(rule("order"), forId: "is_order")
        return bench
    }

    private func wanting(_ bench: GateBench, _ name: String, plan: String, narrowedTo ids: [String]? = nil) throws
        -> Set<String>
    {
        let event = EventDocument(members: ["event": .string(name), "data": ["plan": .string(plan)]])
        let route = try bench.gate.route(try #require(try bench.gate.route(narrowedTo: ids)), for: event)
        let numbers = bench.gate.events.routes.dispatchers(of: route)
        return Set(bench.gate.dispatchers.present.filter { numbers.contains($0.number) }.map(\.id))
    }

    @Test("P3: a dispatcher gets the events that its rule matches, or all without a rule")
    func routes() throws {
        let bench = try bench()
        #expect(!bench.gate.loadRules.isEmpty)
        #expect(try wanting(bench, "order", plan: "pro") == ["all", "orders", "premium"])
        #expect(try wanting(bench, "order", plan: "free") == ["all", "orders"])
        #expect(try wanting(bench, "visit", plan: "pro") == ["all"])
    }

    @Test("P3: rules further narrow an event's `dispatchers`, and an event without dispatchers is unrouted")
    func narrowed() throws {
        let bench = try bench()
        #expect(try wanting(bench, "order", plan: "pro", narrowedTo: ["premium"]) == ["premium"])
        #expect(try wanting(bench, "visit", plan: "pro", narrowedTo: ["premium", "orders"]) == [])
        let route = try bench.gate.route(
            try bench.gate.route(narrowedTo: ["orders"]) ?? 0, for: EventDocument(members: ["event": "visit"]))
        #expect(route == RouteTable.noDispatcher)
    }

    @Test("P3: a changed rule applies to the next event")
    func changes() throws {
        let bench = try bench()
        try bench.gate.loadRules.set(rule("visit"), forId: "is_order")
        #expect(try wanting(bench, "order", plan: "pro") == ["all"])
        #expect(try wanting(bench, "visit", plan: "pro") == ["all", "orders", "premium"])
        bench.gate.loadRules.remove(forId: "is_order")
        #expect(try wanting(bench, "visit", plan: "pro") == ["all"])
    }

    @Test("S5: a rule that would close a cycle is rejected without effect, but may reference a later rule")
    func refusals() throws {
        let bench = try bench()
        try bench.gate.loadRules.set(.reference("later"), forId: "is_order")
        #expect(try wanting(bench, "order", plan: "pro") == ["all"])
        #expect(throws: RuleFault.cycle(["later", "is_order", "later"])) {
            try bench.gate.loadRules.set(.not(.reference("is_order")), forId: "later")
        }
        try bench.gate.loadRules.set(rule("order"), forId: "later")
        #expect(try wanting(bench, "order", plan: "pro") == ["all", "orders", "premium"])
    }

    private static let isOrder = Rule.just(.regularExpression(ignoreCase: false, variable: "event", target: "rde"))
    private static let makesNoSense = Rule.just(.regularExpression(ignoreCase: false, variable: "event", target: "("))

    @Test("S5: a rule may have a regular expression, and an invalid one is rejected without effect")
    func patterns() throws {
        let bench = try bench()
        try bench.gate.loadRules.set(Self.isOrder, forId: "is_order")
        #expect(try wanting(bench, "order", plan: "pro") == ["all", "orders", "premium"])
        #expect(throws: RuleFault.pattern(PatternFault("missing )"))) {
            try bench.gate.loadRules.set(.and([.reference("later"), Self.makesNoSense]), forId: "is_order")
        }
        #expect(bench.gate.loadRules.fault(in: Self.makesNoSense) == .pattern(PatternFault("missing )")))
        #expect(try wanting(bench, "order", plan: "pro") == ["all", "orders", "premium"])
        #expect(try wanting(bench, "visit", plan: "pro") == ["all"])
    }

    @Test("S5: without a library of regular expressions a rule with one is rejected with that reason")
    func noPatterns() throws {
        let scheduler = ManualScheduler()
        let gate = Headgate(
            scheduler: scheduler, store: MemoryEventStore(scheduler: scheduler), state: StoredState(),
            limits: StoreLimits())
        let fault = try #require(throws: RuleFault.self) { try gate.loadRules.set(Self.isOrder, forId: "is_order") }
        #expect(
            "\(fault)" == "has a regular expression that cannot be used: this program has no regular expressions")
        #expect(gate.loadRules.rules["is_order"] == nil)
        #expect(gate.loadRules.fault(in: Self.isOrder) == fault)
        gate.transformations.register(EditingTransformer([]) { _ in "" }, id: "none")
        #expect(throws: TransformationFault.rule(fault)) {
            try gate.transformations.set(
                TransformationSettings(id: "t", transformerId: "none", scopes: [.allDispatchers], when: Self.isOrder))
        }
    }

    @Test("P3: of two rules whose ids look alike, each dispatcher uses its own")
    func lookalikes() throws {
        let ids = ["order": "caf\u{E9}", "visit": "cafe\u{301}"]
        let bench = GateBench(
            ids.sorted { $0.key < $1.key }.map { name, id in
                var settings = DispatcherSettings(id: name)
                settings.loadRule = .reference(id)
                return settings
            })
        for (name, id) in ids { try bench.gate.loadRules.set(rule(name), forId: id) }
        for name in ids.keys { #expect(try wanting(bench, name, plan: "") == [name]) }
    }

    @Test("P3: without rules no rule is evaluated")
    func idle() {
        #expect(GateBench().gate.loadRules.isEmpty)
    }
}
