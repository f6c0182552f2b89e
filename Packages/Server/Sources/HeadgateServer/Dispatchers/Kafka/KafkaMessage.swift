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

    /// Calls a closure with an event as a message, whose bytes are valid during the call.
    /// - Parameter json: the event as it is sent, with the key and name that transformations may have changed.
    static func with<Result>(
        json: UnsafeRawBufferPointer, _ scanner: JSONScanner, _ body: (KafkaMessage) -> Result
    ) -> Result {
        guard let found = try? scanner.scan(json).find(members) else {
            return body(KafkaMessage(key: nil, id: nil, name: nil, time: nil))
        }
        return lend(found[0]) { key in
            lend(found[1]) { id in
                lend(found[2]) { name in
                    lend(found[3]) { time in
                        body(KafkaMessage(key: key, id: id, name: name, time: time))
                    }
                }
            }
        }
    }

    /// Calls a closure with the contents of a string, or with nil if there is none.
    private static func lend<Result>(_ view: JSONView?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let view, view.kind == .string else { return body(nil) }
        if let contents = view.contents { return body(contents) }
        var bytes: [UInt8] = []
        view.appendUnescaped(to: &bytes)
        return bytes.withUnsafeBytes { body($0) }
    }
}
