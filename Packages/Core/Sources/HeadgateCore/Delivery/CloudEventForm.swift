import HeadgateData

/// The encoding of events as CloudEvents (version 1.0 of the specification, structured mode, JSON) (Behaviour K1).
///
/// The event's name becomes the `type`, its time the `time`, its data the `data`, its key the `partitionkey` (extension
/// Partitioning), and its sequence number the `sequence` (extension Sequence). Other members of the event are left out.
public struct CloudEventForm: Sendable, Equatable {
    /// The `source` of all events: a URI reference. Source and id together are unique.
    public var source: String
    /// The prefix of each event's `type`.
    public var typePrefix: String

    public init(source: String, typePrefix: String = "") {
        self.source = source
        self.typePrefix = typePrefix
    }

    /// Returns the event as a CloudEvent.
    func json(of event: EventDocument) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("specversion", "1.0")
        json.member("id", CloudEventForm.attribute(.id, of: event) ?? "")
        json.member("source", source)
        json.member("type", typePrefix + (CloudEventForm.attribute(.event, of: event) ?? ""))
        if let time = event.time { json.member("time", time) }
        if let key = CloudEventForm.attribute(.key, of: event) { json.member("partitionkey", key) }
        if let number = event.sequenceNumber { json.member("sequence", CloudEventForm.sequence(number)) }
        json.member("datacontenttype", "application/json")
        json.member("data")
        // The bytes are unchanged (Behaviour P6).
        json.raw(event.json(of: .data) ?? Array("{}".utf8))
        json.endObject()
        return json.bytes
    }

    /// Returns a sequence number with leading zeros, so that the order of the texts is the order of the numbers.
    private static func sequence(_ number: SequenceNumber) -> String {
        let digits = String(number)
        return String(repeating: "0", count: SequenceNumber.max.digitCount - digits.utf8.count) + digits
    }

    /// Returns the text of a member in which `%` and characters that an attribute must not contain are percent-encoded. A
    /// destination that refuses an attribute would refuse the whole batch. Half of a surrogate pair is encoded as the
    /// three bytes of its code point, so that different ids stay different (Behaviour P6).
    private static func attribute(_ member: EventMember, of event: EventDocument) -> String? {
        guard let text = event.text(member) else { return nil }
        guard let json = event.json(of: member), json.contains(UInt8(ascii: "\\")) else { return encoded(text) }
        var (result, plain) = ("", [UInt8]())
        var rest = String(decoding: json, as: UTF8.self).exactText[...]
        while let byte = rest.first {
            let isHalf = byte == 0xED && (rest.dropFirst().first ?? 0) >= 0xA0
            guard isHalf else {
                plain.append(rest.removeFirst())
                continue
            }
            result += encoded(String(decoding: plain, as: UTF8.self)) + encoded(rest.prefix(3))
            plain = []
            rest = rest.dropFirst(3)
        }
        return result + encoded(String(decoding: plain, as: UTF8.self))
    }

    private static func encoded(_ text: String) -> String {
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
        encoded(String(scalar).utf8)
    }

    private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        PercentEncoding.encode(bytes) { _ in false }
    }
}
