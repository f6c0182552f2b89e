import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

/// Tests log records, their encodings, and the answers of OpenTelemetry servers. An end-to-end test decodes both
/// encodings with OpenTelemetry's own message definitions.
@Suite("otlp dispatcher: records and answers")
struct OTLPFormTests {
    private static let event = #"""
        {"id":"i-1","seq":7,"event":"order","key":"k","time":"2026-03-01T10:00:00.000Z",
         "received_at":"2026-03-01T10:00:00.120Z","attempt":1,
         "context":{"pid":12,"client":"shop/2.1","namespace":"uid:1/shop","host":"till","x":true},
         "data":{"level":"Warning","message":"sold out","n":12345678901234567890,"f":1.50,"w":-7,"none":null,
                 "list":[1,"a"],"in":{"a":false}}}
        """#

    private func json(_ events: String..., form: OTLPForm = OTLPForm()) throws -> String {
        let convert = try #require(form.conversion)
        return String(decoding: convert(Array("[\(events.joined(separator: ","))]".utf8)), as: UTF8.self)
    }

    @Test("K7: an event becomes a log record with all its values, in the JSON encoding of OTLP")
    func record() throws {
        let text = try json(Self.event)
        #expect(
            text
                == #"""
                {"resourceLogs":[{"resource":{"attributes":[{"key":"process.pid","value":{"intValue":"12"}},
                {"key":"service.name","value":{"stringValue":"shop"}},
                {"key":"service.version","value":{"stringValue":"2.1"}},
                {"key":"service.namespace","value":{"stringValue":"uid:1/shop"}},
                {"key":"host.name","value":{"stringValue":"till"}},
                {"key":"headgate.x","value":{"boolValue":true}}]},
                "scopeLogs":[{"scope":{"name":"headgate"},"logRecords":[
                {"timeUnixNano":"1772359200000000000","observedTimeUnixNano":"1772359200120000000","severityNumber":13,
                "severityText":"Warning","eventName":"order","body":{"stringValue":"sold out"},"attributes":[
                {"key":"n","value":{"stringValue":"12345678901234567890"}},
                {"key":"f","value":{"doubleValue":1.5}},{"key":"w","value":{"intValue":"-7"}},{"key":"none","value":{}},
                {"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"a"}]}}},
                {"key":"in","value":{"kvlistValue":{"values":[{"key":"a","value":{"boolValue":false}}]}}},
                {"key":"log.record.uid","value":{"stringValue":"i-1"}},{"key":"headgate.seq","value":{"intValue":"7"}},
                {"key":"headgate.key","value":{"stringValue":"k"}}]}]}]}]}
                """#.replacing("\n", with: ""))
    }

    @Test("K7: consecutive events with the same context share a resource; records keep their order")
    func resources() throws {
        let logs = LogMapping().logs(of: [
            ["event": "a", "context": ["pid": 1]], ["event": "b", "context": ["pid": 1]],
            ["event": "c", "context": ["pid": 2]], ["event": "d", "context": ["pid": 1]],
        ])
        #expect(logs.map { $0.records.map(\.eventName) } == [["a", "b"], ["c"], ["d"]])
        #expect(logs.map { $0.resource["process.pid"] } == [1, 2, 1])
    }

    @Test("K7: resource attributes of the settings override the context, and service.name is always set")
    func resourceOfSettings() {
        var mapping = LogMapping()
        #expect(mapping.logs(of: [[:]]).first?.resource == ["service.name": "unknown_service"])
        mapping.resource = ["service.name": "till", "deployment.environment.name": "shop 7"]
        let resource = mapping.logs(of: [["context": ["client": "a/1"]]]).first?.resource
        #expect(
            resource == [
                "service.name": "till", "service.version": "1", "deployment.environment.name": "shop 7",
            ])
    }

    @Test("K7: values at body_path and severity_path become body and severity instead of attributes")
    func paths() throws {
        var mapping = LogMapping()
        (mapping.body, mapping.severity) = ("data.a.b", "data.s")
        let record = try #require(
            mapping.logs(of: [["data": ["a": ["b": [1], "c": 2], "s": 21, "level": "x"]]]).first?.records.first)
        #expect(record.body == [1] && record.severity.number == 21 && record.severity.text.isEmpty)
        #expect(record.attributes == ["a": ["c": 2], "level": "x"])
        let odd = try #require(
            mapping.logs(of: [["data": ["s": 30, "a": ["b": 1]]]]).first?.records.first, "a value that is no severity")
        #expect(odd.severity == LogSeverity() && odd.attributes == ["s": 30, "a": [:]])
        mapping.body = "data"
        let whole = mapping.logs(of: [["data": ["x": 1]]]).first?.records.first
        #expect(whole?.body == ["x": 1] && whole?.attributes.isEmpty == true)
        mapping.body = "event"
        #expect(mapping.logs(of: [["event": "order"]]).first?.records.first?.body == "order")
    }

    @Test(
        "K7: the level names of loggers and syslog map to OpenTelemetry's severity numbers",
        arguments: [
            (DataItem.string("TRACE"), UInt64(1)), ("debug", 5), ("info", 9), ("notice", 10), ("warn", 13),
            ("ERROR", 17),
            ("crit", 18), ("fatal", 21), ("loud", 0), (9, 9), (24, 24),
        ])
    func severity(item: DataItem, number: UInt64) {
        #expect(LogSeverity(item)?.number == number)
    }

    @Test("K7: other numbers and types are no severity", arguments: [DataItem.null, 0, 25, 1.5, ["a"], true])
    func noSeverity(item: DataItem) {
        #expect(LogSeverity(item) == nil)
    }

    @Test("K7: valid trace and span ids leave the data for the record's own fields; invalid ones stay attributes")
    func traces() throws {
        let trace = "0af7651916cd43dd8448eb211c80319c"
        var record = try #require(
            LogMapping().logs(of: [["data": ["trace_id": .string(trace), "span_id": "b7ad6b7169203331"]]]).first?
                .records.first)
        #expect(record.traceID.count == 16 && record.traceID.first == 0x0A && record.spanID.count == 8)
        #expect(record.attributes.isEmpty)
        record = try #require(
            LogMapping().logs(of: [["data": ["trace_id": "no", "span_id": "0000000000000000"]]]).first?.records.first)
        #expect(record.traceID.isEmpty && record.spanID.isEmpty && record.attributes.count == 2)
    }

    @Test(
        "K7: a time that 64 bits of nanoseconds cannot hold is unknown",
        arguments: [
            ("1969-12-31T23:59:59Z", UInt64(0)), ("9999-01-01T00:00:00Z", 0),
            ("2026-03-01T10:00:00.001Z", 1_772_359_200_001_000_000),
        ])
    func times(text: String, nanoseconds: UInt64) {
        #expect(LogMapping().logs(of: [["time": .string(text)]]).first?.records.first?.time == nanoseconds)
    }

    @Test(
        "K7: the number of rejected records and the reason are read from a partial success in JSON",
        arguments: [
            (#"{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too\nold"}}"#, 2, "tooold"),
            (#"{"partialSuccess":{"rejectedLogRecords":3}}"#, 3, ""),
            (#"{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"slow down"}}"#, 0, "slow down"),
            ("{}", 0, ""), ("", 0, ""), ("<html>", 0, ""),
        ])
    func partialJSON(body: String, rejected: Int, message: String) {
        let partial = PartialSuccess(Array(body.utf8), .json)
        #expect(partial.rejected == rejected && partial.message == message)
        let result = OTLPForm().outcome(ofSuccess: Array(body.utf8))
        #expect(result == (rejected > 0 ? .partlyRejected(events: rejected, message: message) : .delivered))
    }

    @Test("K7: a partial success in protobuf is read, and damaged bytes reject no record")
    func partialProtobuf() {
        var answer = ProtobufWriter()
        answer.message(1) {
            $0.varint(1, 300)
            $0.string(2, "too old")
        }
        let partial = PartialSuccess(answer.bytes, .protobuf)
        #expect(partial.rejected == 300 && partial.message == "too old")
        for end in answer.bytes.indices {
            #expect(PartialSuccess(Array(answer.bytes[..<end]), .protobuf).rejected == 0)
        }
        #expect(
            PartialSuccess([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], .protobuf).rejected == 0)
    }

    @Test("K7: the message is read from a refusal in protobuf")
    func refusal() {
        var status = ProtobufWriter()
        status.varint(1, 3)
        status.string(2, "bad record")
        let form = OTLPForm(encoding: .protobuf)
        #expect(form.message(ofRefusal: status.bytes) == Array("bad record".utf8))
        #expect(form.message(ofRefusal: Array("plain".utf8)) == Array("plain".utf8))
        #expect(OTLPForm().message(ofRefusal: status.bytes) == status.bytes)
    }

    @Test("K7: a request names its encoding, may be compressed, and a rejected record is not sent again")
    func sent() async throws {
        let answer = #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"no"}}"#
        let server = try ScriptedServer { _ in .status("200 OK", body: answer) }
        defer { server.stop() }
        let settings = HTTPSettings(endpoint: server.url, gzip: true)
        try await SenderStage.http(settings, as: OTLPForm()) { stage in
            #expect(await stage.send(Self.event) == .partlyRejected(events: 1, message: "no"))
        }
        let request = try #require(server.requests.first)
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["content-encoding"] == "gzip")
        #expect(try MachineDecoder.gzip.decompressed(request.body) == json(Self.event))
    }
}
