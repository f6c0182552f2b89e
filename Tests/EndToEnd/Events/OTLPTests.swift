import Foundation
import Testing

/// The requests that an OpenTelemetry destination receives, parsed by OpenTelemetry's own messages.
@Suite struct OTLPTests {
    /// The interpreter that `Tools/parts/test/readers` installs.
    private static let python = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../.build/readers/bin/python").standardized.path

    /// A Python program that parses a request in either encoding and prints it as JSON. Unknown fields are errors.
    private static let reading = """
        import json, sys
        from google.protobuf import json_format
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        kind, path = sys.argv[1:]
        body, request = open(path, "rb").read(), ExportLogsServiceRequest()
        if kind == "application/x-protobuf":
            request.ParseFromString(body)
            # The parsed message must serialise to the same bytes, which shows that no field was skipped.
            assert request.SerializeToString() == body
        else:
            # OTLP has ids as hexadecimal digits, and the JSON form of protobuf has them as base64.
            import base64
            def spelled(value):
                if isinstance(value, list): return [spelled(each) for each in value]
                if not isinstance(value, dict): return value
                return {name: base64.b64encode(bytes.fromhex(each)).decode() if name in ("traceId", "spanId")
                        else spelled(each) for name, each in value.items()}
            json_format.ParseDict(spelled(json.loads(body)), request)
        print(json.dumps(json_format.MessageToDict(request)))
        """

    private static let endpointSettings: JSON = [
        "kind": "otlp", "gzip": false, "resource": ["service.name": "till", "shop": 7], "scope_name": "tills",
        "severity_path": "data.how", "body_path": "data.text",
    ]

    @Test(
        "K7: OpenTelemetry's own messages parse both encodings, with all tracked values",
        .enabled(if: FileManager.default.isExecutableFile(atPath: python), "Tools/parts/test/readers installs it"),
        arguments: ["json", "protobuf"]
    )
    func readByOpenTelemetry(encoding: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(
                sendingTo: collector, Self.endpointSettings.merging(["encoding": .string(encoding)]))
            let client = try await daemon.connect()
            let data: JSON = [
                "how": "error", "text": "é \u{1}", "n": 1, "f": 0.5, "yes": true, "list": [1, "two", [:]],
                "in": ["deep": .null], "trace_id": "0af7651916cd43dd8448eb211c80319c",
            ]
            _ = try await client.result(
                "track", ["event": "order", "id": "i", "key": "k", "time": "2026-03-01T10:00:00.000Z", "data": data])
            let request = try await collector.requests(atLeast: 1)[0]
            let parsed = try await parse(request, in: scene)
            let logs = parsed["resourceLogs"][0]
            #expect(attribute("service.name", of: logs["resource"]) == ["stringValue": "till"])
            #expect(attribute("shop", of: logs["resource"]) == ["intValue": "7"])
            #expect(attribute("process.pid", of: logs["resource"])["intValue"].string != nil)
            #expect(logs["scopeLogs"][0]["scope"]["name"] == "tills")
            let record = logs["scopeLogs"][0]["logRecords"][0]
            #expect(
                record.contains([
                    "timeUnixNano": "1772359200000000000", "severityNumber": "SEVERITY_NUMBER_ERROR",
                    "severityText": "error", "eventName": "order", "body": ["stringValue": "é \u{1}"],
                    "traceId": "CvdlGRbNQ92ESOshHIAxnA==",
                ]))
            #expect(record["observedTimeUnixNano"].string != nil)
            let expected: [(String, JSON)] = [
                ("n", ["intValue": "1"]), ("f", ["doubleValue": 0.5]), ("yes", ["boolValue": true]),
                (
                    "list",
                    ["arrayValue": ["values": [["intValue": "1"], ["stringValue": "two"], ["kvlistValue": [:]]]]]
                ),
                ("in", ["kvlistValue": ["values": [["key": "deep", "value": [:]]]]]),
                ("log.record.uid", ["stringValue": "i"]), ("headgate.key", ["stringValue": "k"]),
            ]
            for (name, value) in expected { #expect(attribute(name, of: record) == value, "\(name)") }
            #expect(attribute("trace_id", of: record) == .null && attribute("text", of: record) == .null)
        }
    }

    @Test("K7: records that the destination rejected are counted and logged, and not sent again")
    func partialSuccess() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(
                ScriptedAnswer(body: #"{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}"#))
            let daemon = try await scene.daemon(sendingTo: collector, ["kind": "otlp"])
            try await daemon.pause()
            let client = try await daemon.connect()
            for _ in 1...3 { _ = try await client.result("track", ["event": "order"]) }
            try await daemon.resume()
            _ = try await eventually("the line in the log") {
                daemon.log.contains("the destination accepted a batch but rejected 2 events: too old") ? true : nil
            }
            #expect(try await count("headgate_dispatcher_partially_rejected_total", daemon) == 2)
            #expect(try await count("headgate_dispatcher_sent_total", daemon) == 3)
            #expect(collector.requests.count == 1)
        }
    }

    @Test("K7: a server that is overloaded gets the events again", arguments: [429, 502, 503, 504])
    func overloaded(status: Int) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(status))
            let daemon = try await scene.daemon(sendingTo: collector, ["kind": "otlp"])
            let client = try await daemon.connect()
            _ = try await client.result("track", ["event": "order"])
            let bodies = try await collector.requests(atLeast: 2).map(\.body)
            #expect(bodies[0] == bodies[1])
        }
    }

    private func count(_ name: String, _ daemon: Daemon) async throws -> Int? {
        let metric = try await daemon.ask("metrics")["metrics"].elements.first { $0["name"].string == name }
        return metric?["samples"][0]["value"].int
    }

    private func parse(_ request: CollectedRequest, in scene: Scene) async throws -> JSON {
        try Data(request.bytes).write(to: URL(filePath: scene.directory.path("body")))
        let arguments = ["-c", Self.reading, request.headers["content-type"] ?? "", scene.directory.path("body")]
        return try JSON(
            parsing: await CommandLineTool.run(program: Self.python, arguments, in: scene.directory.path(".")).output)
    }

    private func attribute(_ name: String, of object: JSON) -> JSON {
        object["attributes"].elements.first { $0["key"].string == name }?["value"] ?? .null
    }
}
