import HeadgateCore
import HeadgateData

/// A dispatcher's headers with the values of this moment, and which of these are secrets.
struct ResolvedHeaders {
    private(set) var fields: [HTTPField] = []
    private(set) var secrets: [String] = []

    /// - Parameters:
    ///   - output: what the board before the dispatcher put out (Behaviour A9).
    ///   - files: what is in the files that headers name.
    init(
        _ headers: [HTTPSettings.Header], output: DataObject, files: RequestFiles.Contents
    ) throws(HeaderFault) {
        for header in headers {
            let field = try header.field(output: output, files: files)
            fields.append(field)
            if header.isSecret { secrets += HeaderSecrets.forms(of: field.value) }
            if case .output(let name, _) = header.value { secrets += [output.outputText(name)].compactMap(\.self) }
        }
    }

    /// Adds a header unless the settings have one of this name.
    mutating func addDefault(_ name: String, _ value: String) {
        guard !fields.contains(where: { $0.isNamed(name) }) else { return }
        fields.append(HTTPField(name: name, value: value))
    }
}
