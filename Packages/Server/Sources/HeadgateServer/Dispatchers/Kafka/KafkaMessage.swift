import HeadgateCore
import HeadgateWire

/// An event as a message of Kafka's, beside its body, which is the event as every dispatcher delivers it.
struct KafkaMessage: Equatable {
    /// What chooses the partition: the event's key; nil when it has none.
    var key: [UInt8]?
    var headers: [Header]

    struct Header: Equatable {
        var name: String
        var value: [UInt8]

        init(_ name: String, _ value: String) {
            (self.name, self.value) = (name, Array(value.utf8))
        }
    }

    /// - Parameters:
    ///   - id: the event's id.
    ///   - json: the event as it is sent: what transformations made of its key and its name counts.
    init(id: String, json: UnsafeRawBufferPointer, _ scanner: JSONScanner) {
        headers = [Header("id", id)]
        guard let event = try? scanner.scan(json) else { return }
        key = event.member("key")?.string.map { Array($0.utf8) }
        if let name = event.member("event")?.string { headers.append(Header("event", name)) }
        if let time = event.member("time")?.string { headers.append(Header("time", time)) }
    }
}
