import HeadgateCore
import HeadgateWire

/// An event as a message of Kafka's, beside its body, which is the event as every dispatcher delivers it. It lends bytes.
struct KafkaMessage {
    /// What chooses the partition: the event's key; nil when it has none.
    var key: UnsafeRawBufferPointer?
    let id: UnsafeRawBufferPointer
    var name: UnsafeRawBufferPointer?
    var time: UnsafeRawBufferPointer?

    /// Lends an event as a message.
    /// - Parameters:
    ///   - id: the event's id.
    ///   - json: the event as it is sent: what transformations made of its key and its name counts.
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

    /// Lends a string, unescaped; nil where there is none.
    private static func lend<Result>(_ view: JSONView?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let view, view.kind == .string else { return body(nil) }
        if let contents = view.contents { return body(contents) }
        var bytes: [UInt8] = []
        view.appendUnescaped(to: &bytes)
        return bytes.withUnsafeBytes { body($0) }
    }
}
