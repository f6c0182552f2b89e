import HeadgateCore
import HeadgateWire

/// The parts of an event's Kafka message besides the body. The body is the event as every dispatcher delivers it. The
/// bytes are borrowed.
struct KafkaMessage {
    /// The event's key, which selects the partition, or nil if it has none.
    var key: UnsafeRawBufferPointer?
    let id: UnsafeRawBufferPointer
    var name: UnsafeRawBufferPointer?
    var time: UnsafeRawBufferPointer?

    /// Calls a closure with an event as a message, whose bytes are valid during the call.
    /// - Parameters:
    ///   - id: the event's ID.
    ///   - json: the event as it is sent, with the key and name that transformations may have changed.
    static func with<Result>(
        id: UnsafeRawBufferPointer, json: UnsafeRawBufferPointer, _ scanner: JSONScanner,
        _ body: (KafkaMessage) -> Result
    ) -> Result {
        var message = KafkaMessage(id: id)
        guard let event = try? scanner.scan(json) else { return body(message) }
        return lend(event.member("key")) { key in
            lend(event.member("event")) { name in
                lend(event.member("time")) { time in
                    (message.key, message.name, message.time) = (key, name, time)
                    return body(message)
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
