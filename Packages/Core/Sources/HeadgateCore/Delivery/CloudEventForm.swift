import HeadgateData

/// How events are laid as CloudEvents (version 1.0 of the specification, structured, in JSON): the event's name makes the
/// `type`, its time the `time`, its data the `data`, its key the `partitionkey` (extension Partitioning), and its sequence
/// number the `sequence` (extension Sequence). What else it has is left out (Behaviour K1).
public struct CloudEventForm: Sendable, Equatable {
    /// Where all events come from: a URI reference. With the id it tells each event from all others.
    public var source: String
    /// What stands before each event's name.
    public var typePrefix: String

    public init(source: String, typePrefix: String = "") {
        self.source = source
        self.typePrefix = typePrefix
    }

    /// The event as a CloudEvent.
    func json(of event: EventDocument) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("specversion", "1.0")
        json.member("id", CloudEventForm.attribute(event.id))
        json.member("source", source)
        json.member("type", typePrefix + CloudEventForm.attribute(event.event))
        if let time = event.time { json.member("time", time) }
        if let key = event.key { json.member("partitionkey", CloudEventForm.attribute(key)) }
        if let number = event.sequenceNumber { json.member("sequence", CloudEventForm.sequence(number)) }
        json.member("datacontenttype", "application/json")
        json.member("data")
        // As it was sent, byte by byte (Behaviour P6).
        json.raw(event.json(of: .data) ?? Array("{}".utf8))
        json.endObject()
        return json.bytes
    }

    /// With as many digits for all numbers, so that texts have the order of the numbers.
    private static func sequence(_ number: SequenceNumber) -> String {
        let digits = String(number)
        return String(repeating: "0", count: SequenceNumber.max.digitCount - digits.utf8.count) + digits
    }

    /// A text without characters that an attribute must not have, which stand as `%` and hexadecimal digits, as does `%`
    /// itself: one that refuses such an attribute would refuse the whole batch.
    private static func attribute(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: mustBeEncoded) else { return text }
        return text.unicodeScalars.map { mustBeEncoded($0) ? encoded($0) : String($0) }.joined()
    }

    private static func mustBeEncoded(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x25, 0xFDD0...0xFDEF: true
        default: scalar.value & 0xFFFE == 0xFFFE
        }
    }

    private static func encoded(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }
}
