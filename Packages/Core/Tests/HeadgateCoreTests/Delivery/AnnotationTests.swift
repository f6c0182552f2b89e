import Foundation
import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Annotation of held events")
struct AnnotationTests {
    let bench = GateBench()

    /// The `data` of each event in the last batch, as JSON text.
    private var lastData: [String] {
        let batch = bench.sender.batches.last
        return (batch?.events ?? []).map { event in
            let text = String(decoding: batch?.body[event.range] ?? [], as: UTF8.self)
            let start = text.range(of: #""data":"#)?.upperBound ?? text.endIndex
            return String(text[start...].dropLast())
        }
    }

    private func pause() { _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in } }
    private func resume() {
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
    }

    @Test("D13: an event blocked by a barrier is annotated with the reason, and others are not")
    func held() {
        bench.gate.network.value = .connected(.wifi)
        pause()
        bench.track(1, EventDraft(data: #"{"a":1}"#))
        resume()
        #expect(
            lastData == [
                #"{"a":1,"was_queued":"true","queue_reason":"manual","network_connection_type":"wifi"}"#
            ])
        bench.sender.answer()
        bench.track(1, EventDraft(data: #"{"a":1}"#))
        #expect(lastData == [#"{"a":1}"#])
    }

    @Test(
        "D13: the annotation replaces the event's own members of the same names, with any escapes",
        arguments: [
            #"{"was_queued":"x","a":1,"queue_reason":"y","network_connection_type":"z"}"#,
            #"{"a":1,"was\u005fqueued":"x"}"#, #"{"queue_reason":{"was_queued":1},"a":1,"queue_reason":2}"#,
            #"{ "a":1, "was_queued" : [ "}" ] }"#,
        ])
    func ownMembers(data: String) {
        bench.gate.network.value = .connected(.wifi)
        pause()
        bench.track(1, EventDraft(data: data))
        resume()
        #expect(
            lastData == [#"{"a":1,"was_queued":"true","queue_reason":"manual","network_connection_type":"wifi"}"#])
    }

    @Test("D13: members with similar names stay, and so do nested members")
    func alikeMembers() {
        pause()
        bench.track(
            1, EventDraft(data: #"{"x_queued":1,"o":{"was_queued":2},"queue_reasons":3,"network_connection_type":4}"#))
        resume()
        #expect(
            lastData == [
                #"{"x_queued":1,"o":{"was_queued":2},"queue_reasons":3,"network_connection_type":4,"#
                    + #""was_queued":"true","queue_reason":"manual"}"#
            ])
    }

    @Test("P6: delivered JSON has no line ends and tabs between tokens, and its strings are unchanged")
    func whiteSpace() {
        let data = "{\r\n\t\"a b\":\r1, \"c\":\t[ \"d\\te\u{7F}é😀\"\r ]}"
        bench.track(1, EventDraft(data: data))
        let spaces = data.unicodeScalars.map { $0.value < 0x20 ? " " : String($0) }.joined()
        #expect(lastData == [spaces])
    }

    @Test("D13: empty data, with or without spaces, contains only the annotation", arguments: ["{}", "{ \n\t}"])
    func emptyData(data: String) throws {
        pause()
        bench.track(1, EventDraft(data: data))
        resume()
        let object =
            try JSONSerialization.jsonObject(with: Data(try #require(lastData.first).utf8)) as? [String: String]
        #expect(object == ["was_queued": "true", "queue_reason": "manual"])
    }

    @Test("D13: the reasons are joined in order of occurrence, each once")
    func severalReasons() {
        let door = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(door, id: "door \"1\"", scopes: [.all])
        bench.track(1)
        pause()
        bench.settle()
        door.set(.open)
        bench.settle()
        door.set(.closed)
        bench.settle()
        door.set(.open)
        resume()
        #expect(lastData == [#"{"was_queued":"true","queue_reason":"door \"1\",manual"}"#])
    }

    @Test("D13: an event that arrives after a barrier opened does not have its reason")
    func onlyTheHeld() {
        let door = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        bench.track(1)
        pause()
        bench.settle()
        door.set(.open)
        bench.settle()
        bench.track(1)
        resume()
        #expect(
            lastData == [
                #"{"was_queued":"true","queue_reason":"door,manual"}"#,
                #"{"was_queued":"true","queue_reason":"manual"}"#,
            ])
    }

    @Test("D13: events that waited for a full batch are annotated, but not the event that completed it")
    func batching() throws {
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 2])
        bench.track(1)
        bench.track(1)
        #expect(lastData == [#"{"was_queued":"true","queue_reason":"batching"}"#, "{}"])
    }

    @Test("D13: an event sent at once through a batching barrier is not annotated")
    func notHeldByBatching() throws {
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 1])
        bench.track(1)
        #expect(lastData == ["{}"])
    }

    @Test("D13: a retry's backoff is a reason")
    func backoff() {
        bench.track(1)
        bench.sender.answer(.status(503))
        bench.advance(by: .milliseconds(500))
        #expect(lastData == [#"{"was_queued":"true","queue_reason":"backoff"}"#])
    }

    @Test("D13: events sent by a flush are annotated, and so are events after the flush")
    func releasedByFlush() throws {
        _ = bench.gate.pause("collect", reason: nil, isFlushable: true) { _ in }
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 9])
        bench.track(1)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(lastData == [#"{"was_queued":"true","queue_reason":"manual,batching"}"#])
        bench.sender.answer()
        bench.track(1)
        resume()
        #expect(bench.sender.sent.count == 1)
        bench.track(8)
        #expect(lastData.first == #"{"was_queued":"true","queue_reason":"manual,batching"}"#)
        #expect(lastData.last == "{}")
    }

    @Test("D13: waiting for an earlier batch does not count as being held")
    func behindAnother() {
        bench.track(1)
        bench.track(1)
        bench.sender.answer()
        bench.settle()
        #expect(lastData == ["{}"])
    }

    @Test("D13: a barrier that closed and opened while an event was in flight did not hold that event")
    func inFlight() {
        let door = SwitchBarrier(.open)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        bench.track(1)
        door.set(.closed)
        bench.track(1)
        door.set(.open)
        bench.settle()
        bench.sender.answer(.status(503))
        bench.advance(by: .milliseconds(500))
        #expect(
            lastData == [
                #"{"was_queued":"true","queue_reason":"backoff"}"#,
                #"{"was_queued":"true","queue_reason":"door,backoff"}"#,
            ])
    }

    @Test("D13: a barrier that closed while an event was in flight did not hold it, even behind pending events")
    func inFlightBehindOthers() {
        let bench = GateBench { ($0.dispatchLimit, $0.inFlight) = (1, 2) }
        let door = SwitchBarrier(.open)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        for key in ["x", "x", "y"] { bench.track(1, EventDraft(key: key)) }
        #expect(bench.sender.sent == [[1], [3]])
        door.set(.closed)
        bench.settle()
        door.set(.open)
        bench.settle()
        bench.sender.answer(.delivered, to: 1)
        bench.sender.answer(.status(503), to: 2)
        bench.advance(by: .seconds(1))
        bench.sender.answer()
        bench.settle()
        let reasons = bench.sender.batches.suffix(2).map { batch in
            String(decoding: batch.body, as: UTF8.self).ranges(of: "door").count
        }
        #expect(bench.sender.sent.suffix(2) == [[2], [3]])
        #expect(reasons == [1, 0])
    }

    @Test(
        "D13: annotate_queued as a list annotates events blocked by one of the listed reasons, with all reasons",
        arguments: [(["manual", "consent"], true), (["connectivity"], false), (["door"], true)] as [(Set<String>, Bool)]
    )
    func words(words: Set<String>, isAnnotated: Bool) {
        let bench = GateBench { $0.annotateQueued = .words(words) }
        let door = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1)
        door.set(.open)
        _ = bench.gate.resume("collect") { _ in }
        bench.track(1)
        let bodies = bench.sender.batches.map { String(decoding: $0.body, as: UTF8.self) }.joined()
        #expect(bodies.ranges(of: "was_queued").count == (isAnnotated ? 1 : 0))
        #expect(!isAnnotated || bodies.contains("manual") && bodies.contains("door"))
    }

    @Test("D13: annotate_queued false disables the annotation")
    func switchedOff() {
        let bench = GateBench { $0.annotateQueued = false }
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1)
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        #expect(!String(decoding: bench.sender.batches[0].body, as: UTF8.self).contains("was_queued"))
    }
}
