import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Ids that come again")
struct DedupeTests {
    let bench = GateBench()

    private func track(_ id: String, of namespace: String = "uid:1000") -> Admission? {
        defer { bench.settle() }
        return bench.track(EventDraft(id: id, namespace: namespace))
    }

    @Test("Q7: same id is stored once, and answered with the first one's place")
    func duplicate() {
        #expect(track("a") == .stored(1))
        #expect(track("b") == .stored(2))
        #expect(track("a") == .duplicate(1))
        #expect(bench.gate.stored.events == 2)
    }

    @Test("Q7: also in the same group")
    func sameGroup() {
        bench.track(EventDraft(id: "a"))
        #expect(bench.track(EventDraft(id: "a")) == .duplicate(1))
        bench.settle()
        #expect(bench.gate.stored.events == 1)
    }

    @Test("Q7: namespaces do not know each other's ids")
    func namespaces() {
        #expect(track("a", of: "uid:1") == .stored(1))
        #expect(track("a", of: "uid:2") == .stored(2))
        #expect(track("bc", of: "a") == .stored(3))
        #expect(track("c", of: "ab") == .stored(4))
        #expect(track("\u{0}c", of: "ab\u{0}") == .stored(5))
        #expect(track("c", of: "ab\u{0}\u{0}") == .stored(6))
    }

    @Test("Q7: ids that the service made are not looked at")
    func madeIds() {
        bench.track(2)
        #expect(bench.gate.stored.events == 2)
    }

    @Test("Q7: across a restart")
    func acrossRestart() throws {
        _ = track("a", of: "ns")
        _ = track("ü\u{1F600}", of: "ns")
        try bench.restart()
        #expect(track("ü\u{1F600}", of: "ns") == .duplicate(2))
        #expect(track("a", of: "ns") == .duplicate(1))
        #expect(track("a", of: "other") == .stored(3))
    }

    @Test("Q7: also when the event itself is long delivered")
    func afterDelivery() throws {
        bench.sender.reply = { _ in .delivered }
        _ = track("a")
        bench.advance(by: .seconds(120))
        try bench.restart()
        #expect(track("a") == .duplicate(1))
    }

    @Test("Q7: within the window, and not long behind it")
    func window() throws {
        _ = track("a")
        bench.advance(by: .seconds(86_399))
        #expect(track("a") == .duplicate(1))
        bench.advance(by: .seconds(181))
        #expect(track("a") == .stored(2))
    }

    @Test("Q7: the window goes on over a restart")
    func windowOverRestart() throws {
        _ = track("a")
        bench.advance(by: .seconds(80_000))
        _ = track("b")
        try bench.restart()
        bench.advance(by: .seconds(6_600))
        #expect(track("a") == .stored(3))
        #expect(track("b") == .duplicate(2))
        bench.advance(by: .seconds(20_000))
        try bench.restart()
        #expect(track("a") == .duplicate(3))
    }

    @Test("Q7: ids of events that could not be stored are forgotten")
    func failedGroup() {
        bench.store.memory.fault = .failed("broken")
        bench.store.holdsAppends = true
        _ = track("a")
        _ = track("b")
        #expect(track("a") == .duplicate(1))
        bench.store.holdsAppends = false
        bench.store.memory.fault = nil
        bench.store.releaseAppend()
        bench.settle()
        #expect(bench.acknowledgements.allSatisfy { $0.fault != nil })
        #expect(track("a") == .stored(3))
        #expect(track("b") == .stored(4))
    }

    @Test("Q7, Q4: an id that was refused may come again")
    func refusedId() {
        bench.gate.events.limits.maxEvents = 1
        #expect(track("a") == .stored(1))
        #expect(track("b") == .queueFull)
        bench.sender.answer()
        #expect(track("b") == .stored(2))
    }

    @Test("Q7: a long id or namespace does no harm, and is known again after a restart")
    func longId() throws {
        let long = String(repeating: "x", count: 70_000)
        #expect(track(long, of: long) == .stored(1))
        try bench.restart()
        #expect(track(long, of: long) == .duplicate(1))
    }

    @Test("Q7: the window is bounded in number, the oldest go, and the rest are found")
    func bounded() {
        var window = DedupeWindow(capacity: 1000)
        for number in 1...5000 { window.insert(fingerprint(number), sequenceNumber: SequenceNumber(number)) }
        for number in 1...4000 { #expect(window.find(fingerprint(number)) == nil) }
        for number in 4001...5000 { #expect(window.find(fingerprint(number)) == SequenceNumber(number)) }
    }

    @Test("Q7: forgetting the newest and the oldest leaves the others")
    func forgetting() {
        var window = DedupeWindow(capacity: 100)
        for number in 1...150 { window.insert(fingerprint(number), sequenceNumber: SequenceNumber(number)) }
        window.forget(from: 141)
        window.mark(0)
        for number in 151...160 { window.insert(fingerprint(number), sequenceNumber: SequenceNumber(number)) }
        let present = (1...160).filter { window.find(fingerprint($0)) != nil }
        #expect(present == Array(51...140) + Array(151...160))
        window.forget(markedBy: 0)
        #expect((1...160).filter { window.find(fingerprint($0)) != nil } == Array(151...160))
    }

    private func fingerprint(_ number: Int) -> DedupeWindow.Fingerprint {
        Array("id-\(number)".utf8).withUnsafeBytes {
            DedupeWindow.fingerprint(TrackedEvent.Identity(namespace: "n", id: $0))
        }
    }
}
