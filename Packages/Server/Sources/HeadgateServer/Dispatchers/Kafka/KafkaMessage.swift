import HeadgateCore
import HeadgateWire

/// The parts of an event's Kafka message besides the body. The body is the event as every dispatcher delivers it. The
/// bytes are borrowed.
struct KafkaMessage {
    /// The event's key, which selects the partition, or nil if it has none.
    let key: UnsafeRawBufferPointer?
    let id: UnsafeRawBufferPointer?
    let name: UnsafeRawBufferPointer?
    let time: UnsafeRawBufferPointer?

    private static let members = JSONNames("key", "id", "event", "time")

    private init(
        key: UnsafeRawBufferPointer? = nil, id: UnsafeRawBufferPointer? = nil, name: UnsafeRawBufferPointer? = nil,
        time: UnsafeRawBufferPointer? = nil
    ) {
        (self.key, self.id, self.name, self.time) = (key, id, name, time)
    }

    /// Calls a closure with an event as a message, whose bytes are valid during the call.
    /// - Parameters:
    ///   - json: the event as it is sent, with the key and name that transformations may have changed.
    ///   - head: the positions of members in the JSON, or nil if it must be scanned.
    static func with<Result>(
        json: UnsafeRawBufferPointer, _ head: EventHead?, _ scanner: JSONScanner, _ body: (KafkaMessage) -> Result
    ) -> Result {
        if let message = head.flatMap({ KafkaMessage($0, of: json) }) { return body(message) }
        guard let found = try? scanner.scan(json).find(members) else {
            return body(KafkaMessage())
        }
        return withRawBytes(found[0]) { key in
            withRawBytes(found[1]) { id in
                withRawBytes(found[2]) { name in
                    withRawBytes(found[3]) { time in
                        body(KafkaMessage(key: key, id: id, name: name, time: time))
                    }
                }
            }
        }
    }

    /// Makes a message of an event without scanning it. Returns nil if a string has escapes.
    private init?(_ head: EventHead, of json: UnsafeRawBufferPointer) {
        func contents(_ string: Range<Int>) -> UnsafeRawBufferPointer? {
            guard string.upperBound <= json.count else { return nil }
            let contents = UnsafeRawBufferPointer(rebasing: json[string].dropFirst().dropLast())
            return contents.contains(UInt8(ascii: "\\")) ? nil : contents
        }
        guard let id = contents(head.id), let name = contents(head.name), let time = contents(head.time) else {
            return nil
        }
        let key = head.key.map(contents)
        if case .some(nil) = key { return nil }
        (self.key, self.id, self.name, self.time) = (key ?? nil, id, name, time)
    }

    /// Calls a closure with the contents of a string, or with nil if there is none.
    private static func withRawBytes<Result>(_ view: JSONView?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let view, view.kind == .string else { return body(nil) }
        if let contents = view.contents { return body(contents) }
        var bytes: [UInt8] = []
        view.appendUnescaped(to: &bytes)
        return bytes.withUnsafeBytes { body($0) }
    }
}
