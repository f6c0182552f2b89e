import Glibc
import HeadgateCore
import HeadgateData

extension HTTPSettings.Header {
    /// The header with its value of this moment.
    /// - Parameters:
    ///   - output: what the board before the dispatcher put out (Behaviour A9).
    ///   - files: what is in the files that headers name.
    func field(output: DataObject, files: RequestFiles.Contents) throws(HeaderFault) -> HTTPField {
        let field = HTTPField(name: name, value: try currentValue(output, files))
        guard field.isValid else { throw HeaderFault(header: name, fault: "not a valid header") }
        return field
    }

    /// Whether its value is kept from logs, answers and so on (Behaviour X4): all that is not written in the settings,
    /// and what is written there under a name that speaks of a secret.
    var isSecret: Bool {
        guard case .text = value else { return true }
        return HeaderName.soundsSecret(name)
    }

    private func currentValue(_ output: DataObject, _ files: RequestFiles.Contents) throws(HeaderFault) -> String {
        switch value {
        case .text(let text): text
        case .environment(let variable): try environmentValue(variable)
        case .file(let path): try fileValue(files[path])
        case .output(let name, let prefix): prefix + (try outputValue(name, output))
        }
    }

    /// The gate lets nothing through without; but a batch may have been taken just before the settings asked for it.
    private func outputValue(_ member: String, _ output: DataObject) throws(HeaderFault) -> String {
        guard let text = output.outputText(member) else {
            throw HeaderFault(header: name, fault: "the board has not put out `\(member)`")
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
