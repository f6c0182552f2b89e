/// A dispatcher's headers with the values of this moment, and which of these are secrets.
struct ResolvedHeaders {
    private(set) var fields: [HTTPField] = []
    private(set) var secrets: [String] = []

    init(_ headers: [HTTPSettings.Header]) throws(HeaderFault) {
        for header in headers {
            let field = try header.field()
            fields.append(field)
            if header.isSecret { secrets += Self.secrets(in: field.value) }
        }
    }

    /// Adds a header unless the settings have one of this name.
    mutating func addDefault(_ name: String, _ value: String) {
        guard !fields.contains(where: { $0.isNamed(name) }) else { return }
        fields.append(HTTPField(name: name, value: value))
    }

    /// The value, and what follows its scheme: of `Bearer abc`, `abc` alone is worth as much.
    private static func secrets(in value: String) -> [String] {
        guard let space = value.firstIndex(of: " ") else { return [value] }
        return [value, String(value[value.index(after: space)...])]
    }
}
