import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Tests of lists of events that are stored as a whole or not at all. The limits are within one byte or event of the
/// size of a list.
@Suite("Lists of events accepted as a whole")
struct AllOrNoneTests {
    @Test(
        "Q4, Q7: near the limits a list is stored as a whole or not at all, as in a simple model",
        arguments: 1...20)
    func model(seed: UInt64) {
        var run = AllOrNoneRun(seed: seed)
        for step in 1...150 {
            run.step()
            guard run.agrees else {
                Issue.record("seed \(seed), step \(step): \(run.lastOutcome), expected \(run.expectedOutcome)")
                return
            }
        }
        #expect(run.accepted > 20 && run.refused > 20, "seed \(seed): too few lists near the limits")
    }

    @Test("Q7: duplicates need no room, even over the limits")
    func repeats() throws {
        let bench = GateBench()
        let list = ["a", "b"].map { EventDraft(id: $0) }
        #expect(try bench.admit(all: list) == [.stored(1), .stored(2)])
        var limits = StoreLimits()
        limits.maxEvents = 1
        limits.maxBytes = 1
        bench.gate.setLimits(limits)
        #expect(try bench.admit(all: list) == [.duplicate(1), .duplicate(2)])
        #expect(try bench.admit(all: [EventDraft(dispatchers: [])]) == [.unrouted])
        #expect(try bench.admit(all: []) == [])
        #expect(throws: AdmissionRefusal.tooLarge) { try bench.admit(all: list + [EventDraft(id: "c")]) }
        bench.settle()
        #expect(bench.gate.stored.events == 2)
    }

    @Test("Q7: an id that was refused with its list is new when it is sent again")
    func refusedIds() throws {
        let bench = GateBench()
        var limits = StoreLimits()
        limits.maxEvents = 1
        bench.gate.setLimits(limits)
        let list = ["a", "b"].map { EventDraft(id: $0) }
        #expect(throws: AdmissionRefusal.queueFull) { try bench.admit(all: list) }
        #expect(try bench.admit(all: [list[1]]) == [.stored(1)])
    }
}

/// Offers random lists of events to a gate and its model.
private struct AllOrNoneRun {
    private let bench = GateBench()
    private var random: SeededRandom
    private var model = AllOrNoneModel()
    private(set) var accepted = 0
    private(set) var refused = 0
    private(set) var lastOutcome = "nothing"
    private(set) var expectedOutcome = "nothing"

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    var agrees: Bool { lastOutcome == expectedOutcome }

    mutating func step() {
        let list = (0..<Int.random(in: 1...6, using: &random)).map { _ in draft() }
        setLimits(around: list)
        let expected = model.admit(list, wall: bench.scheduler.wall)
        let found = Result { () throws(AdmissionRefusal) in try bench.admit(all: list) }
        if case .success = found { accepted += 1 } else { refused += 1 }
        if !random.oneIn(3) { bench.settle() }
        expectedOutcome = "\(expected), \(model.held)"
        // `stored` does not include events that are offered and not yet committed.
        let held = bench.gate.stored + bench.gate.events.uncommitted
        lastOutcome = "\(found), \(held)"
    }

    private mutating func draft() -> EventDraft {
        var draft = EventDraft(
            data: #"{"a":""# + String(repeating: "x", count: .random(in: 0...40, using: &random)) + "\"}")
        if !random.oneIn(4) { draft.id = "id-\(Int.random(in: 1...60, using: &random))" }
        if random.oneIn(3) { draft.key = "ü" }
        if random.oneIn(4) { draft.namespace = "other" }
        if random.oneIn(5) { draft.context = #"{"pid":12}"# }
        if random.oneIn(6) { draft.dispatchers = [] }
        if random.oneIn(5) { draft.time = Timestamp(milliseconds: 5) }
        return draft
    }

    /// Sets limits that the list just meets, or exceeds by one.
    private mutating func setLimits(around list: [EventDraft]) {
        let need = model.held + model.need(of: list, wall: bench.scheduler.wall)
        var limits = StoreLimits()
        limits.maxBytes = max(1, need.bytes + Int.random(in: -1...1, using: &random))
        if random.oneIn(2) {
            limits.maxBytes = 1 << 30
            limits.maxEvents = max(1, need.events + Int.random(in: -1...1, using: &random))
        }
        model.limits = limits
        bench.gate.setLimits(limits)
    }
}

/// A model that admits a list event by event, and undoes it if one does not fit.
private struct AllOrNoneModel {
    var limits = StoreLimits()
    private(set) var held = Tally.zero
    private var last: SequenceNumber = 0
    private var firstNumbers: [String: SequenceNumber] = [:]

    mutating func admit(_ list: [EventDraft], wall: Timestamp) -> Result<[Admission], AdmissionRefusal> {
        let before = self
        let admissions = list.map { take($0, wall: wall) }
        let new = held - before.held
        let fits = held.events <= limits.maxEvents && held.bytes <= limits.maxBytes
        guard new.events > 0, !fits else { return .success(admissions) }
        self = before
        return .failure(new.bytes > limits.maxBytes ? .tooLarge : .queueFull)
    }

    /// Returns the number of events and bytes that a list would add to the store.
    func need(of list: [EventDraft], wall: Timestamp) -> Tally {
        var copy = self
        for draft in list { _ = copy.take(draft, wall: wall) }
        return copy.held - held
    }

    private mutating func take(_ draft: EventDraft, wall: Timestamp) -> Admission {
        let identity = draft.id.map { "\(draft.namespace)/\($0)" }
        if let identity, let first = firstNumbers[identity] { return .duplicate(first) }
        if draft.dispatchers == [] { return .unrouted }
        last += 1
        if let identity { firstNumbers[identity] = last }
        held += Tally(events: 1, bytes: stored(draft, last, wall).utf8.count)
        return .stored(last)
    }

    /// Returns the JSON of an event as it is stored.
    private func stored(_ draft: EventDraft, _ number: SequenceNumber, _ wall: Timestamp) -> String {
        let key = draft.key.map { #","key":"\#($0)""# } ?? ""
        let time = (draft.time ?? wall).text
        return #"{"id":"\#(draft.id ?? GateBench.spareId)","seq":\#(number),"event":"\#(draft.name)","time":"\#(time)""#
            + #","received_at":"\#(wall.text)"\#(key)\#(draft.context)\#(draft.data)"#
    }
}

extension GateBench {
    fileprivate static let spareId = "spare"

    /// Offers a list of events without ending the turn.
    fileprivate func admit(all list: [EventDraft]) throws(AdmissionRefusal) -> [Admission] {
        try nest(list[...], []).get()
    }

    /// Lends the events recursively, so that all borrowed texts are alive at the same time.
    private func nest(
        _ rest: ArraySlice<EventDraft>, _ lent: [TrackedEvent]
    ) -> Result<[Admission], AdmissionRefusal> {
        guard let draft = rest.first else {
            return Result { () throws(AdmissionRefusal) in try gate.events.admit(all: lent) }
        }
        let route = (try? gate.route(narrowedTo: draft.dispatchers)) ?? RouteTable.noDispatcher
        return draft.withTracked(route: route, spareId: GateBench.spareId) {
            nest(rest.dropFirst(), lent + [$0])
        }
    }
}

extension EventQueue {
    /// The events that are offered and not yet committed.
    fileprivate var uncommitted: Tally { held - backlog.live }
}
