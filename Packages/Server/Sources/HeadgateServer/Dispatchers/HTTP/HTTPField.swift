/// One header line of a request.
struct HTTPField: Equatable {
    var name: String
    var value: String

    /// Whether it can be sent as it is: the name is a token, and the value cannot end the line (RFC 9110, 5.1 and 5.5).
    var isValid: Bool {
        !name.isEmpty && name.utf8.allSatisfy(Self.isTokenByte) && value.utf8.allSatisfy(Self.isValueByte)
    }

    /// The line in libcurl's form, in which an empty value is a semicolon.
    var line: String {
        value.isEmpty ? "\(name);" : "\(name): \(value)"
    }

    /// Whether it is of this name, which is compared without regard to case.
    func isNamed(_ other: String) -> Bool {
        name.lowercased() == other.lowercased()
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: tokenMarks.contains(byte)
        }
    }

    private static func isValueByte(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\t") || (byte >= 0x20 && byte != 0x7F)
    }

    private static let tokenMarks = Set("!#$%&'*+-.^_`|~".utf8)
}
