import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("CloudEvents")
struct CloudEventTests {
    private static let form = CloudEventForm(source: "urn:shop:till-1", typePrefix: "com.example.")

    private func bench(_ format: BatchFormat, byteLimit: Int = 40_000) -> GateBench {
        var settings = DispatcherSettings(id: "collect")
        settings.byteLimit = byteLimit
        return GateBench([settings], format: format, environment: { $0.readObject = DocumentReader.read })
    }

    private func body(_ bench: GateBench) throws -> String {
        String(decoding: try #require(bench.sender.batches.last).body, as: UTF8.self)
    }

    @Test("K1: an event's id, name, time, key, number and data map to the attributes of the specification")
    func attributes() throws {
        let bench = bench(.singleCloudEvent(Self.form))
        var draft = EventDraft("order", id: "id/1", key: "basket 7", data: #"{"total":1}"#)
        draft.time = Timestamp(rfc3339: "2020-02-03T04:05:06.789Z")
        bench.track(1, draft)
        let expected =
            #"{"specversion":"1.0","id":"id/1","source":"urn:shop:till-1","type":"com.example.order","#
            + #""time":"2020-02-03T04:05:06.789Z","partitionkey":"basket 7","sequence":"0000000000000000001","#
            + #""datacontenttype":"application/json","data":{"total":1}}"#
        #expect(try body(bench) == expected)
    }

    @Test("K1: without a key there is no partitionkey, and the default time is that of the receipt")
    func withoutOptionals() throws {
        let bench = bench(.singleCloudEvent(Self.form))
        bench.track(1)
        let event = try #require(DocumentReader.read(body(bench).utf8))
        #expect(event["partitionkey"] == nil)
        #expect(event.get(key: "time") == "2027-01-15T08:00:00.000Z")
    }

    @Test("K1: forbidden characters in attributes are percent-encoded, and stay in data")
    func forbiddenCharacters() throws {
        let bench = bench(.singleCloudEvent(Self.form))
        bench.track(
            1,
            EventDraft("a\nb\u{7F}", id: "50%\u{0}", key: "k\u{FFFE}\u{85}é", data: #"{"text":"\u0001 %"}"#))
        let event = try #require(DocumentReader.read(body(bench).utf8))
        #expect(event.get(key: "type") == "com.example.a%0Ab%7F")
        #expect(event.get(key: "id") == "50%25%00")
        #expect(event.get(key: "partitionkey") == "k%EF%BF%BE%C2%85é")
        #expect(event.get(key: "data", as: DataObject.self)?.get(key: "text") == "\u{1} %")
    }

    @Test(
        "P6, K1: half of a surrogate pair in an attribute is percent-encoded, so that different ids stay different",
        arguments: [
            (#"i\ud83d"#, "i%ED%A0%BD"), (#"i\ud83e\u0041"#, "i%ED%A0%BEA"), (#"\ude00%\ud83d\ude00"#, "%ED%B8%80%25😀"),
        ])
    func halves(spelling: String, attribute: String) throws {
        let text =
            #"{"id":"\#(spelling)","seq":1,"event":"\#(spelling)","key":"\#(spelling)","data":{"x":"\#(spelling)"}}"#
        let document = try #require(EventDocument(json: Array(text.utf8)))
        let json = String(decoding: CloudEventForm(source: "s").json(of: document), as: UTF8.self)
        for member in [#""id":"\#(attribute)""#, #""type":"\#(attribute)""#, #""partitionkey":"\#(attribute)""#] {
            #expect(json.contains(member), "\(json)")
        }
        #expect(json.contains(#""data":{"x":"\#(spelling)"}"#))
    }

    @Test("D1, K1: a batch of CloudEvents is an array, and byte_limit is its exact size")
    func batch() throws {
        let alone = bench(.singleCloudEvent(Self.form))
        alone.track(1)
        let size = try body(alone).utf8.count
        for (limit, count) in [(3 * size + 4, 3), (3 * size + 3, 2)] {
            let bench = bench(.cloudEvents(Self.form), byteLimit: limit)
            bench.track(5)
            let batch = try #require(bench.sender.batches.first)
            #expect(batch.events.count == count)
            let events = batch.events.map { String(decoding: batch.body[$0.range], as: UTF8.self) }
            #expect(try body(bench) == "[" + events.joined(separator: ",") + "]")
            #expect(events.allSatisfy { $0.hasPrefix(#"{"specversion":"1.0","id":"made-"#) })
        }
    }

    @Test("K1: single mode sends one CloudEvent per request, with any dispatch_limit")
    func single() {
        let bench = GateBench(
            [DispatcherSettings(id: "collect")], format: .singleCloudEvent(Self.form), reply: { _ in .delivered })
        bench.track(3)
        #expect(bench.sender.sent == [[1], [2], [3]])
    }

    @Test("P4, K1: a CloudEvent is made from the transformed event, so that context can be moved into data")
    func transformed() throws {
        let bench = bench(.cloudEvents(Self.form))
        let edits: [EventEdit] = [
            .rename([.init(from: "context.pid", to: "data.pid")]), .set("event", "sale"), .remove("key"),
        ]
        bench.gate.transformations.register(EditingTransformer(edits, digest: { _ in "" }), id: "t")
        try bench.gate.transformations.set(
            TransformationSettings(id: "t", transformerId: "t", scopes: [.allDispatchers]))
        var draft = EventDraft("order", key: "k", data: #"{"a":1}"#)
        draft.context = #"{"pid":12}"#
        bench.track(1, draft)
        let batch = try #require(bench.sender.batches.first)
        let event = try #require(DocumentReader.read(batch.body[batch.events[0].range]))
        #expect(event["data"] == ["a": 1, "pid": 12])
        #expect(event.get(key: "type") == "com.example.sale")
        #expect(event["partitionkey"] == nil)
    }
}
