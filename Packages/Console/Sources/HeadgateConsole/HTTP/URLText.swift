/// Encodes and decodes text in URLs and forms.
enum URLText {
    /// Percent-encodes all characters except the unreserved ones (RFC 3986, 2.3).
    static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~".utf8.contains(byte)
        }
    }

    /// Decodes percent-encoding. Returns nil if it is malformed or not UTF-8.
    /// - Parameter isForm: true to decode a plus as a space, as in forms and queries.
    static func decoded(_ text: some StringProtocol, isForm: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}

/// The fields of a query or a form, in order.
struct FormFields: Equatable, Sendable {
    private(set) var fields: [Field]

    /// One field.
    struct Field: Equatable, Sendable {
        let name: String
        let value: String
    }

    /// Makes an empty list.
    init() {
        fields = []
    }

    /// Reads `name=value&…`. Returns nil if it is malformed.
    init?(_ text: some StringProtocol) {
        fields = []
        for part in text.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = URLText.decoded(halves[0], isForm: true),
                let value = URLText.decoded(halves.count > 1 ? halves[1] : "", isForm: true)
            else { return nil }
            fields.append(Field(name: name, value: value))
        }
    }

    /// The first value of a name.
    subscript(name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Returns the fields without those of a name.
    func without(_ name: String) -> FormFields {
        var rest = self
        rest.fields.removeAll { $0.name == name }
        return rest
    }

    /// The fields in the form of a query, without the question mark.
    var text: String {
        fields.map { "\(URLText.encoded($0.name))=\(URLText.encoded($0.value))" }.joined(separator: "&")
    }
}
