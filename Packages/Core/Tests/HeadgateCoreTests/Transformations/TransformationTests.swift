import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Transformations in a gate")
struct TransformationTests {
    /// A transformer that calls a closure of the test.
    private struct Scripted: Transformer {
        let body: (EventDocument, String?) throws -> EventDocument?

        func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
            try body(event, dispatcher)
        }
    }

    private struct Refusal: Error {}

    /// Returns a transformer that appends a mark to `data.way`.
    private func adding(_ mark: String) -> Scripted {
        Scripted { event, _ in
            var event = event
            event.data["way"] = .string((event.data.get(key: "way") ?? "") + mark)
            return event
        }
    }

    private func bench(_ ids: String..., change: (inout DispatcherSettings) -> Void = { _ in }) -> GateBench {
        let settings = ids.map { id in
            var settings = DispatcherSettings(id: id)
            change(&settings)
            return settings
        }
        return GateBench(settings, environment: { $0.readObject = DocumentReader.read })
    }

    private func add(
        _ transformer: any Transformer, _ id: String, to bench: GateBench, _ scopes: [TransformationScope],
        order: Double? = nil, when: Rule? = nil
    ) throws {
        bench.gate.transformations.register(transformer, id: id)
        try bench.gate.transformations.set(
            TransformationSettings(id: id, transformerId: id, scopes: scopes, order: order, when: when))
    }

    /// Returns a bench whose transformation fails for data with a text as `user`, and then drops the event.
    private func benchThatDrops(mostDeadLetters: Int) throws -> GateBench {
        var limits = StoreLimits()
        limits.deadLetters = DeadLetterLimits(count: mostDeadLetters, bytes: 1 << 20)
        let bench = GateBench(
            [DispatcherSettings(id: "a")], limits: limits, environment: { $0.readObject = DocumentReader.read })
        bench["a"].reply = { _ in .delivered }
        bench.gate.transformations.register(EditingTransformer([.set("user.seen", true)]) { _ in "" }, id: "mark")
        try bench.gate.transformations.set(
            TransformationSettings(id: "mark", transformerId: "mark", scopes: [.allDispatchers], dropsOnError: true))
        return bench
    }

    /// Returns the events of the last batch sent to a dispatcher.
    private func sent(_ bench: GateBench, _ id: String) throws -> [DataObject] {
        let batch = try #require(bench[id].batches.last)
        return try batch.events.map { try #require(DocumentReader.read(batch.body[$0.range])) }
    }

    private func trail(_ bench: GateBench, _ id: String) throws -> String? {
        try #require(sent(bench, id).first).get(key: "data", as: DataObject.self)?.get(key: "way")
    }

    @Test(
        "P4, S2: transformations and scopes whose names look alike but differ in bytes are different",
        arguments: [(false, "12"), (true, "1")])
    func similarNames(isRemoved: Bool, trail: String) throws {
        let bench = bench("caf\u{E9}")
        try add(adding("1"), "caf\u{E9}", to: bench, [.allDispatchers])
        try add(adding("2"), "cafe\u{301}", to: bench, [.allDispatchers])
        try add(adding("3"), "third", to: bench, [.dispatcher(id: "cafe\u{301}")])
        if isRemoved { bench.gate.transformations.remove(id: "cafe\u{301}") }
        bench.track(1)
        #expect(try self.trail(bench, "caf\u{E9}") == trail)
    }

    @Test("P4: a dispatcher's events pass its own transformations and those for all dispatchers, in order")
    func scopesAndOrder() throws {
        let bench = bench("a", "b")
        try add(adding("1"), "last", to: bench, [.allDispatchers], order: 9)
        try add(adding("2"), "own", to: bench, [.dispatcher(id: "a")])
        try add(adding("3"), "both", to: bench, [.allDispatchers, .dispatcher(id: "a")])
        try add(adding("4"), "off", to: bench, [])
        try add(adding("5"), "early", to: bench, [.afterCollectors])
        try add(adding("6"), "first", to: bench, [.allDispatchers], order: -1)
        bench.track(1)
        #expect(try trail(bench, "a") == "6231")
        #expect(try trail(bench, "b") == "631")
    }

    @Test("P4: the default order is the index in the list, and equal orders follow the list")
    func orderByPosition() throws {
        let bench = bench("a")
        let given: [(String, Double?)] = [
            ("a", nil), ("b", nil), ("c", 0.5), ("d", nil), ("e", 1), ("f", 3), ("g", -0.5), ("h", 8), ("i", nil),
        ]
        for (mark, order) in given { try add(adding(mark), mark, to: bench, [.allDispatchers], order: order) }
        bench.track(1)
        // Sorted by order: g -0.5, a 0, c 0.5, b 1, e 1, d 3, f 3, h 8, i 8.
        #expect(try trail(bench, "a") == "gacbedfhi")
        bench.gate.transformations.remove(id: "a")
        bench["a"].answer()
        bench.track(1)
        // With one removed, the later ones have moved up: b 0, c 0.5, e 1, d 2, f 3, i 7, h 8.
        #expect(try trail(bench, "a") == "gbcedfih")
    }

    @Test("P4: transformations with the scope `afterCollectors` run before the store")
    func afterCollectors() throws {
        let bench = bench("a")
        try add(adding("1"), "late", to: bench, [.allDispatchers])
        #expect(!bench.gate.transformations.areAfterCollectors)
        try add(adding("2"), "early", to: bench, [.afterCollectors])
        #expect(bench.gate.transformations.areAfterCollectors)
        let result = try #require(
            bench.gate.transformations.transformAfterCollectors(Array(#"{"event":"x","context":{},"data":{}}"#.utf8)))
        #expect(result.event?.data == ["way": "2"] && result.isChanged && result.failures.isEmpty)
    }

    @Test("P4: nil drops the event for that dispatcher only, and later events continue")
    func drops() throws {
        let bench = bench("a", "b") { $0.dispatchLimit = 2 }
        let odd = Scripted { event, _ in (event.sequenceNumber ?? 0) % 5 == 0 ? event : nil }
        try add(odd, "odd", to: bench, [.dispatcher(id: "a")])
        bench["b"].reply = { _ in .delivered }
        bench["a"].reply = { _ in .delivered }
        bench.track(20)
        #expect(bench["a"].delivered == [5, 10, 15, 20])
        #expect(bench["b"].delivered == Array(1...20))
        #expect(bench.counters[.transformedAway] == 16)
        #expect(bench.summary(of: "a").pending == 0 && bench.summary(of: "a").counters[.failed] == 0)
        #expect(bench.gate.stored.events == 0)
    }

    @Test("P4: a flush ends even if events are dropped, and counts them neither as sent nor as failed")
    func flush() throws {
        let bench = bench("a")
        bench["a"].reply = { _ in .delivered }
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "b", scopes: [.all])
        try add(Scripted { event, _ in event.event == "x" ? nil : event }, "drop", to: bench, [.allDispatchers])
        bench.track(3, EventDraft("x"))
        bench.track(2, EventDraft("y"))
        var answer: FlushAnswer?
        _ = bench.gate.flush(timeout: nil) { answer = $0 }
        bench.settle()
        #expect(
            answer
                == FlushAnswer(ended: .settled, dispatchers: ["a": .init(sent: 2, failed: 0, left: 0, blockedBy: [])]))
    }

    @Test("P4: a transformation that throws or returns an invalid event is counted, and leaves the event unchanged")
    func throwing() throws {
        let bench = bench("a")
        try add(adding("1"), "1", to: bench, [.allDispatchers])
        try add(Scripted { _, _ in throw Refusal() }, "2", to: bench, [.allDispatchers])
        try add(
            Scripted { event, _ in
                var event = event
                event.event = ""
                return event
            }, "3", to: bench, [.allDispatchers])
        try add(adding("4"), "4", to: bench, [.allDispatchers])
        bench.track(1)
        #expect(try trail(bench, "a") == "14")
        #expect(bench.counters[.transformationErrors] == 2)
    }

    @Test("P4: `when` selects events, evaluated before or after the earlier transformations")
    func when() throws {
        let bench = bench("a")
        let isX = Rule.just(.equals(ignoreCase: false, variable: "event", target: "x"))
        try bench.gate.loadRules.set(isX, forId: "is_x")
        try add(adding("1"), "1", to: bench, [.allDispatchers], when: .reference("is_x"))
        try add(adding("2"), "2", to: bench, [.allDispatchers], when: .not(.reference("is_x")))
        try add(
            adding("3"), "3", to: bench, [.allDispatchers],
            when: .just(.contains(ignoreCase: false, variable: "way", target: "1")))
        try add(adding("4"), "4", to: bench, [.allDispatchers], when: .not(.reference("nobody")))
        bench.track(1, EventDraft("x"))
        #expect(try trail(bench, "a") == "13")
        bench["a"].answer()
        bench.track(1, EventDraft("y"))
        #expect(try trail(bench, "a") == "2")
    }

    @Test("P6: an event without transformations is sent byte for byte as stored")
    func untouched() throws {
        let bench = bench("a")
        try add(EditingTransformer([.remove("none")]) { _ in "" }, "edit", to: bench, [.allDispatchers])
        let data = #"{"n":1.000000000000000000001e+3, "s":"\u00e9\ud800","n":2}"#
        bench.track(1, EventDraft(data: data))
        let body = String(decoding: try #require(bench["a"].batches.first).body, as: UTF8.self)
        #expect(body.hasSuffix(#""data":"# + data + "}]"))
    }

    @Test("D1: byte_limit applies to the transformed events")
    func byteLimit() throws {
        let bench = bench("a") { $0.byteLimit = 1000 }
        let growing = Scripted { event, _ in
            var event = event
            event.data["x"] = .string(String(repeating: "x", count: event.event == "huge" ? 2000 : 500))
            return event
        }
        try add(growing, "grow", to: bench, [.allDispatchers])
        bench["a"].reply = { _ in .delivered }
        bench.track(3)
        bench.track(1, EventDraft("huge"))
        #expect(bench["a"].sent == [[1], [2], [3], [4]])
        #expect(bench["a"].batches.map { $0.body.count > 1000 } == [false, false, false, true])
    }

    @Test("D10: a dead letter has the event as it was in the queue, and a requeued one is transformed once")
    func deadLetter() throws {
        let bench = bench("a")
        try add(adding("x"), "add", to: bench, [.allDispatchers])
        bench.track(1, EventDraft(data: #"{"way":""}"#))
        bench["a"].answer(.status(400))
        bench.settle()
        let deadLetter = try #require(bench.store.memory.deadLetters.first?.event?.json(attempt: 1))
        let event = try #require(DocumentReader.read(deadLetter))
        #expect(event.get(key: "data") == ["way": ""] as DataObject)
        #expect(bench.gate.deadLetters.requeue { _ in })
        bench.settle()
        #expect(
            bench["a"].batches.map { String(decoding: $0.body, as: UTF8.self).contains(#""way":"x""#) } == [true, true])
    }

    @Test("P4: with `on_error: drop` a failed transformation dead-letters the event, and the others continue")
    func dropsOnError() throws {
        let bench = bench("a") { $0.dispatchLimit = 2 }
        bench["a"].reply = { _ in .delivered }
        let edits = EditingTransformer([.set("user.seen", true), .remove("mail")]) { _ in "" }
        bench.gate.transformations.register(edits, id: "mark")
        try bench.gate.transformations.set(
            TransformationSettings(id: "mark", transformerId: "mark", scopes: [.allDispatchers], dropsOnError: true))
        var reported: [String] = []
        let subscription = bench.gate.transformations.failures.subscribe {
            reported.append("\($0.transformation): \($0.error)")
        }
        bench.track(1, EventDraft(data: #"{"user":"x","mail":"m"}"#))
        bench.track(1, EventDraft(data: #"{"user":{},"mail":"m"}"#))
        bench.settle()
        #expect(bench["a"].delivered == [2])
        let deadLetter = try #require(bench.store.memory.deadLetters.first)
        #expect(deadLetter.reason == .transformation && deadLetter.attempts == 0 && deadLetter.sequenceNumber == 1)
        #expect(deadLetter.answer == "transformation mark failed")
        #expect(bench.counters[.transformationErrors] == 1 && bench.summary(of: "a").counters[.dead] == 1)
        #expect(reported.count == 1 && reported[0].hasPrefix("mark: "))
        withExtendedLifetime(subscription) {}
    }

    @Test("P4, D10: events whose transformation failed do not exceed the limit of dead letters either")
    func dropsWithinTheLimit() throws {
        let bench = try benchThatDrops(mostDeadLetters: 3)
        bench.track(10, EventDraft(data: #"{"user":"x"}"#))
        bench.settle()
        #expect(bench.store.memory.deadLetters.count == 3 && bench.summary(of: "a").pending == 7)
        #expect(bench.summary(of: "a").blockedBy == ["DeadLettersBarrier:a"])
        #expect(bench.gate.deadLetters.purge([1, 2]) { _ in })
        bench.settle()
        #expect(bench.store.memory.deadLetters.count == 3 && bench.summary(of: "a").pending == 5)
    }

    @Test("Q2, D10: an event that no dead letter has room for is not overtaken")
    func notOvertaken() throws {
        let bench = try benchThatDrops(mostDeadLetters: 1)
        for isWrong in [false, true, false, true, false] {
            bench.track(EventDraft(data: isWrong ? #"{"user":"x"}"# : "{}"))
        }
        bench.settle()
        #expect(bench["a"].delivered == [1, 3] && bench.summary(of: "a").pending == 2)
    }

    @Test("P4: by default the event continues without the members to remove")
    func continuesWithoutError() throws {
        let bench = bench("a")
        try add(
            EditingTransformer([.set("user.seen", true), .remove("mail")]) { _ in "" }, "m", to: bench,
            [.allDispatchers])
        bench.track(1, EventDraft(data: #"{"user":"x","mail":"m"}"#))
        #expect(try sent(bench, "a").first?.get(key: "data") == ["user": "x"] as DataObject)
        #expect(bench.counters[.transformationErrors] == 1)
    }

    @Test("P4: an event whose transformation failed before the store is dead-lettered for each of its dispatchers")
    func dropsBeforeTheStore() throws {
        let bench = bench("a", "b")
        for id in ["a", "b"] { bench[id].reply = { _ in .delivered } }
        bench.gate.transformations.register(EditingTransformer([.set("x.y", 1)]) { _ in "" }, id: "early")
        try bench.gate.transformations.set(
            TransformationSettings(id: "early", transformerId: "early", scopes: [.afterCollectors], dropsOnError: true))
        let json = #"{"event":"e","context":{"uid":1},"data":{"x":1}}"#
        let result = try #require(bench.gate.transformations.transformAfterCollectors(Array(json.utf8)))
        #expect(result.fatal == "early")
        let context = String(decoding: result.marked?.json(of: .context) ?? [], as: UTF8.self)
        #expect(context == #"{"uid":1,"failed_transformation":"early"}"#)
        var marked = EventDraft(data: #"{"x":1}"#)
        marked.context = context
        bench.track(1, marked)
        bench.track(1, EventDraft(data: #"{"x":{}}"#))
        bench.settle()
        #expect(bench["a"].delivered == [2] && bench["b"].delivered == [2])
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.transformation, .transformation])
    }

    @Test("P4: a transformation gets the dispatcher and the annotation of a held event")
    func sees() throws {
        let bench = bench("a")
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "hold", scopes: [.all])
        let moving = Scripted { event, dispatcher in
            var event = event
            event.data = [
                "dispatcher": dispatcher.map { .string($0) } ?? .null, "was": event.data["was_queued"] ?? .null,
            ]
            return event
        }
        try add(moving, "move", to: bench, [.allDispatchers])
        bench.track(1)
        barrier.set(.open)
        bench.settle()
        #expect(try sent(bench, "a").first?.get(key: "data") == ["dispatcher": "a", "was": "true"] as DataObject)
    }

    @Test("P4: a transformation can be replaced at its position, and removed")
    func replacing() throws {
        let bench = bench("a")
        bench["a"].reply = { _ in .delivered }
        try add(adding("1"), "1", to: bench, [.allDispatchers])
        try add(adding("2"), "2", to: bench, [.allDispatchers])
        try add(adding("3"), "1", to: bench, [.allDispatchers])
        bench.track(1)
        #expect(try trail(bench, "a") == "32")
        bench.gate.transformations.remove(id: "1")
        bench.gate.transformations.remove(id: "nobody")
        bench.track(1)
        #expect(try trail(bench, "a") == "2")
        #expect(throws: TransformationFault.unknownTransformer("nobody")) {
            try bench.gate.transformations.set(TransformationSettings(id: "x", transformerId: "nobody", scopes: []))
        }
    }

    @Test(
        "P4: scopes survive writing and reading", arguments: ["afterCollectors", "allDispatchers", "dispatcher:a:b"])
    func scopes(text: String) {
        #expect(TransformationScope(rawValue: text)?.rawValue == text)
        #expect(["", "all", "dispatcher:", "aftercollectors"].allSatisfy { TransformationScope(rawValue: $0) == nil })
    }
}
