import Glibc
import HeadgateCore
import HeadgateData

/// A dispatcher's headers with their present values, and the secrets among these.
struct ResolvedHeaders {
    private(set) var fields: [HTTPField] = []
    private(set) var secrets: [String] = []

    /// Reads the present values.
    /// - Parameters:
    ///   - output: the output of the dispatcher's board (Behaviour A9).
    ///   - files: the contents of the files that headers name.
    init(
        _ headers: [HTTPSettings.Header], output: DataObject, files: RequestFiles.Contents
    ) throws(HeaderFault) {
        for header in headers {
            let field = try header.field(output: output, files: files)
            fields.append(field)
            if header.isSecret { secrets += HeaderSecrets.forms(of: field.value) }
            // The prefix is no secret, and a server may repeat the value without it.
            if let prefix = header.prefix { secrets.append(String(field.value.dropFirst(prefix.count))) }
        }
    }

    /// Adds a header, unless there is one of this name.
    mutating func addDefault(_ name: String, _ value: String) {
        guard !fields.contains(where: { $0.isNamed(name) }) else { return }
        fields.append(HTTPField(name: name, value: value))
    }
}

extension HTTPSettings.Header {
    /// Returns the header with its present value.
    /// - Parameters:
    ///   - output: the output of the dispatcher's board (Behaviour A9).
    ///   - files: the contents of the files that headers name.
    func field(output: DataObject, files: RequestFiles.Contents) throws(HeaderFault) -> HTTPField {
        let field = HTTPField(name: name, value: try currentValue(output, files))
        guard field.isValid else { throw HeaderFault(header: name, fault: "not a valid header") }
        return field
    }

    /// The text before a value from another source, or nil if the settings have the whole value.
    var prefix: String? {
        switch value {
        case .text: nil
        case .file(_, let prefix), .environment(_, let prefix), .output(_, let prefix): prefix
        }
    }

    /// True if the value must not appear in logs and answers (Behaviour X4): it comes from another source, or its
    /// header's name sounds like a secret.
    var isSecret: Bool {
        guard case .text = value else { return true }
        return HeaderName.soundsSecret(name)
    }

    private func currentValue(_ output: DataObject, _ files: RequestFiles.Contents) throws(HeaderFault) -> String {
        switch value {
        case .text(let text): text
        case .environment(let variable, let prefix): prefix + (try environmentValue(variable))
        case .file(let path, let prefix): prefix + (try fileValue(files[path]))
        case .output(let name, let prefix): prefix + (try outputValue(name, output))
        }
    }

    /// Returns a member of the board's output. The activation barrier stays closed without it, but a batch may have
    /// been taken just before the settings required it.
    private func outputValue(_ member: String, _ output: DataObject) throws(HeaderFault) -> String {
        guard let text = output.outputText(member) else {
            throw HeaderFault(header: name, fault: "the board's output has no member `\(member)`")
        }
        return text
    }

    private func environmentValue(_ variable: String) throws(HeaderFault) -> String {
        guard let bytes = getenv(variable) else { throw HeaderFault(header: name, fault: "variable not set") }
        guard let text = String(validatingCString: bytes) else { throw notText }
        return text
    }

    private func fileValue(_ contents: [UInt8]?) throws(HeaderFault) -> String {
        guard var bytes = contents, bytes.count <= Self.longestValue else {
            throw HeaderFault(header: name, fault: "file not readable")
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw notText }
        return text
    }

    private var notText: HeaderFault {
        HeaderFault(header: name, fault: "not text")
    }

    private static let longestValue = 64 * 1024
}

/// The fault of a header that cannot be sent. It names the header and never its value (Behaviour X4).
struct HeaderFault: Error, Equatable {
    var header: String
    var fault: String

    /// The fault as a text for people, like `header Authorization: variable not set`.
    var cause: String {
        "header \(header): \(fault)"
    }
}
