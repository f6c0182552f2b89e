import HeadgateData

/// The encoding of text in URLs and forms.
enum URLText {
    /// Percent-encodes all characters except the unreserved ones (RFC 3986, 2.3).
    static func encoded(_ text: String) -> String { PercentEncoding.unreserved(text.utf8) }

    /// Decodes percent-encoding. Returns nil if it is malformed or not UTF-8.
    /// - Parameter isForm: true to decode a plus as a space, as in forms and queries.
    static func decoded(_ text: some StringProtocol, isForm: Bool = false) -> String? {
        // An encoded plus is `%2B`, so that a plus can be replaced before the decoding.
        let plus = UInt8(ascii: "+")
        let bytes = PercentEncoding.decode(text.utf8.lazy.map { isForm && $0 == plus ? UInt8(ascii: " ") : $0 })
        return bytes.flatMap { String(validating: $0, as: UTF8.self) }
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
