import Foundation
import Testing

/// The body that a CloudEvents destination receives, parsed by the official Python SDK.
@Suite struct CloudEventTests {
    /// The interpreter that `Tools/parts/test/readers` installs.
    private static let python = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../.build/readers/bin/python").standardized.path

    /// A Python program that parses a single event or a batch, and prints the attributes and data of each event as one line.
    private static let reading = """
        import json, sys
        from cloudevents.http import from_http
        kind, path = sys.argv[1:]
        body = open(path, "rb").read()
        single = "application/cloudevents+json"
        events = json.loads(body) if kind.startswith("application/cloudevents-batch+json") else [json.loads(body)]
        for event in events:
            read = from_http({"content-type": single}, json.dumps(event))
            print(json.dumps(dict(read.get_attributes(), data=read.data)))
        """

    @Test(
        "K1: the Python SDK parses CloudEvents, batched and single, with all tracked data",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: python), "Tools/parts/test/readers installs it"),
        arguments: ["cloudevents", "cloudevents_single"]
    )
    func readBySDK(format: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let settings: JSON = [
                "format": .string(format), "cloudevents_source": "urn:shop:till-1", "cloudevents_type_prefix": "shop.",
            ]
            let daemon = try await scene.daemon(sendingTo: collector, settings)
            try await daemon.pause()
            let client = try await daemon.connect()
            for number in 1...3 {
                let event: JSON = [
                    "event": "order", "id": .string("é/\(number)"), "key": "basket 7",
                    "data": ["number": .number(Double(number))], "time": "2026-03-01T10:00:00.000Z",
                ]
                _ = try await client.result("track", event)
            }
            try await daemon.resume()
            let requests = try await collector.requests(atLeast: format == "cloudevents" ? 1 : 3)
            let read = try await requests.enumerated().asyncFlatMap { try await events(of: $1, "\($0)", in: scene) }
            #expect(read.map { $0["id"] } == ["é/1", "é/2", "é/3"])
            #expect(read.map { $0["data"] } == [["number": 1], ["number": 2], ["number": 3]])
            #expect(read.map { $0["sequence"].string ?? "" } == read.map { $0["sequence"].string ?? "" }.sorted())
            for event in read {
                #expect(
                    event.contains([
                        "specversion": "1.0", "source": "urn:shop:till-1", "type": "shop.order",
                        "partitionkey": "basket 7", "time": "2026-03-01T10:00:00.000Z",
                        "datacontenttype": "application/json",
                    ]))
            }
        }
    }

    private func events(of request: CollectedRequest, _ name: String, in scene: Scene) async throws -> [JSON] {
        try scene.directory.write(request.body, to: name)
        let arguments = ["-c", Self.reading, request.headers["content-type"] ?? "", scene.directory.path(name)]
        let run = try await CommandLineTool.run(program: Self.python, arguments, in: scene.directory.path("."))
        return try run.output.split(separator: "\n").map { try JSON(parsing: String($0)) }
    }
}

extension Sequence {
    fileprivate func asyncFlatMap<Result>(_ body: (Element) async throws -> [Result]) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results += try await body(element) }
        return results
    }
}
