import Foundation
import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("A delivered event")
struct DeliveredEventTests {
    private func text(_ bench: GateBench, batch: Int = 0) throws -> String {
        let batch = try #require(bench.sender.batches.dropFirst(batch).first)
        return String(decoding: batch.body[try #require(batch.events.first).range], as: UTF8.self)
    }

    @Test("P6: an event is delivered with its members in order, and its data and context byte for byte")
    func asSent() throws {
        let bench = GateBench()
        let data =
            #"{ "z":1.0000000000000000001e+02 , "a" : "\ud83d\ude00 é\/", "a2":[ ],"n":123456789012345678901234567890}"#
        var draft = EventDraft("sign\"up", id: "id/1", key: "k\n", data: data)
        draft.context = #"{"pid":12,"uid": 1000}"#
        draft.time = Timestamp(rfc3339: "2020-02-03T04:05:06.789Z")
        bench.track(1, draft)
        let expected =
            #"{"id":"id/1","seq":1,"event":"sign\"up","time":"2020-02-03T04:05:06.789Z","received_at":"2027-01-15T08:00:00.000Z","#
            + #""key":"k\n","attempt":1,"context":{"pid":12,"uid": 1000},"data":"# + data + "}"
        #expect(try text(bench) == expected)
    }

    @Test("P6: an event without key and time has no key, and the time of its receipt")
    func withoutOptionals() throws {
        let bench = GateBench()
        bench.track(1)
        let moment = #""2027-01-15T08:00:00.000Z""#
        let expected =
            #"{"id":"made-1","seq":1,"event":"order","time":\#(moment),"received_at":\#(moment),"attempt":1,"#
            + #""context":{},"data":{}}"#
        #expect(try text(bench) == expected)
    }

    @Test("K6: the positions of id, name, time and key are those in the JSON", arguments: [nil, "k\n"])
    func head(key: String?) throws {
        let bench = GateBench()
        for _ in 1...12 { bench.track(1, EventDraft("sign\"up", key: key)) }
        let batch = try #require(bench.sender.batches.last)
        let event = try #require(batch.events.last)
        let head = try #require(event.head)
        let json = Array(batch.body[event.range])
        let text = { (range: Range<Int>) in String(decoding: json[range], as: UTF8.self) }
        #expect(text(head.id) == event.id)
        #expect(text(head.name) == #""sign\"up""#)
        #expect(text(head.time) == #""2027-01-15T08:00:00.000Z""#)
        #expect(head.key.map(text) == key.map { _ in #""k\n""# })
    }

    @Test("P5: the same event carries the same id on every attempt, also after a restart")
    func sameId() throws {
        let bench = GateBench()
        bench.track(1, EventDraft(id: "mine"))
        bench.sender.answer(.status(503))
        bench.advance(by: .seconds(1))
        let before = bench.sender.batches.map { $0.events.map(\.id) }
        #expect(before == [[#""mine""#], [#""mine""#]])
        try bench.restart()
        #expect(bench.sender.batches.map { $0.events.map(\.id) } == [[#""mine""#]])
    }

    @Test("D9: attempt is the charged attempts plus one")
    func attempt() throws {
        let bench = GateBench()
        bench.track(1)
        let results: [SendResult] = [
            .status(500), .noAnswer(cause: "refused"), .status(501), .noAnswer(cause: "reset"),
        ]
        for result in results {
            bench.sender.answer(result)
            bench.advance(by: .seconds(300))
        }
        let attempts = try bench.sender.batches.map { batch in
            let events = try #require(try JSONSerialization.jsonObject(with: Data(batch.body)) as? [[String: Any]])
            return try #require(events.first?["attempt"] as? Int)
        }
        #expect(attempts == [1, 2, 2, 3, 3])
    }
}
