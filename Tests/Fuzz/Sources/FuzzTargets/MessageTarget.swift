import HeadgateData
import HeadgateWire

/// The message decoder. An accepted message can be traversed completely, and reads the same after it is written again.
enum MessageTarget {
    // Shared by all inputs, as a daemon shares it between its connections.
    private static nonisolated(unsafe) let decoder = MessageDecoder(maxDepth: 16)
    private static nonisolated(unsafe) let scanner = JSONScanner(maxDepth: 16)

    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard input.count > 0 else { return -1 }
        decode(input)
        guard let view = try? scanner.scan(input) else { return 0 }
        inspect(view, within: view)
        rewrite(view.item)
        return 0
    }

    private static func decode(_ line: UnsafeRawBufferPointer) {
        switch decoder.decode(line) {
        case .message(let message): inspect(message)
        case .batch(let messages):
            precondition(messages.count == messages.reduce(0) { count, _ in count + 1 })
            for message in messages { inspect(message) }
        }
    }

    private static func inspect(_ message: IncomingMessage) {
        switch message {
        case .request(let request):
            _ = request.method.string
            read(request.params)
            var writer = JSONWriter()
            writer.errorAnswer(id: request.id.raw, error: .methodNotFound(request.method.string ?? ""))
            mustBeJSON(writer.bytes)
        case .notification(let notification): read(notification.params)
        case .response(let response):
            if case .result(let result) = response.outcome { _ = result.item }
        case .invalid(let id, let error):
            var writer = JSONWriter()
            writer.errorAnswer(id: id?.raw, error: error)
            mustBeJSON(writer.bytes)
        case .invalidNotification, .invalidResponse: break
        }
    }

    private enum State: String, CaseIterable { case open, closed }

    /// Reads params as methods do.
    private static func read(_ params: JSONView?) {
        _ = try? Field("id", .string(1...8)).read(params)
        _ = try? Field(optional: "timeout_ms", .milliseconds(atLeast: 0)).read(params)
        _ = try? Field(optional: "wait", default: false).read(params)
        _ = try? Field(optional: "state", Shape<State>.word).read(params)
        _ = try? Field(optional: "input", .any).read(params)
        _ = try? Field(optional: "data", .object).read(params)
        _ = try? Field(optional: "dispatchers", .array(of: .string)).read(params)
        let event = Shape.object(Field("event", .string), Field(optional: "seq", .integer)) { ($0, $1) }
        _ = try? Field("events", .array(of: event, atLeast: 1)).read(params)
    }

    /// Checks that every value is within its container, and reads it as each type.
    private static func inspect(_ view: JSONView, within outer: JSONView) {
        precondition(view.raw.count > 0 && view.raw.count <= outer.raw.count)
        _ = (view.bool, view.int, view.number?.double, view.string, view.contents, view.equals("2.0"))
        if let elements = view.elements {
            for element in elements { inspect(element, within: view) }
        }
        guard let members = view.members else { return }
        for (key, value) in members {
            inspect(key, within: view)
            inspect(value, within: view)
        }
    }

    private static func rewrite(_ item: DataItem) {
        var writer = JSONWriter()
        writer.item(item)
        guard let again = try? DataItem(parsing: writer.bytes) else { fatalError("unreadable: \(writer.text)") }
        precondition(again == item, "\(again) instead of \(item)")
    }

    private static func mustBeJSON(_ bytes: [UInt8]) {
        precondition((try? DataItem(parsing: bytes)) != nil, "no JSON: \(String(decoding: bytes, as: UTF8.self))")
    }
}
