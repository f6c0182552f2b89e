import Glibc
import HeadgateData
import HeadgateWire

/// The reader of configuration files.
public enum SettingsFile {
    /// The most bytes of a file.
    static let longest = 4 << 20

    /// Reads a file. Throws the reason why the file cannot be read, or the position of its fault. A pipe is read until
    /// its writer closes it.
    public static func read(_ path: String) throws(SettingsFault) -> DataObject {
        try read(path, waiting: true)
    }

    /// Reads a file while the daemon runs. A pipe is a fault, because the daemon would wait for its writer.
    static func readAtOnce(_ path: String) throws(SettingsFault) -> DataObject {
        try read(path, waiting: false)
    }

    private static func read(_ path: String, waiting: Bool) throws(SettingsFault) -> DataObject {
        let text = try bytes(path, waiting)
        do throws(SettingsFault) {
            return try SettingsText.parse(text)
        } catch {
            let message = error.path.isEmpty ? "\(path): \(error.message)" : "\(error.message) in \(path)"
            throw SettingsFault(path: error.path, message: message)
        }
    }

    private static func bytes(_ path: String, _ waiting: Bool) throws(SettingsFault) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | (waiting ? 0 : O_NONBLOCK))
        guard file >= 0 else { throw unreadable(path, errno) }
        defer { close(file) }
        guard waiting || isReadAtOnce(file) else {
            throw fault(path, "is a pipe or a socket, which can be read only at the start")
        }
        var text: [UInt8] = []
        while true {
            let piece = try readPiece(of: file, path)
            if piece.isEmpty { return text }
            text += piece
            guard text.count <= longest else { throw fault(path, "is longer than \(longest) bytes") }
        }
    }

    /// Returns true if a read does not wait for another process: for a file, or a device like `/dev/null`.
    private static func isReadAtOnce(_ file: Int32) -> Bool {
        var status = stat()
        return fstat(file, &status) == 0 && [S_IFREG, S_IFCHR].contains(status.st_mode & S_IFMT)
    }

    /// Reads the next bytes of a file or pipe. Returns none at the end.
    private static func readPiece(of file: Int32, _ path: String) throws(SettingsFault) -> [UInt8] {
        var result = 0
        let piece = [UInt8](unsafeUninitializedCapacity: 1 << 16) { bytes, count in
            repeat { result = Glibc.read(file, bytes.baseAddress, bytes.count) } while result < 0 && errno == EINTR
            count = max(result, 0)
        }
        guard result >= 0 else { throw unreadable(path, errno) }
        return piece
    }

    private static func unreadable(_ path: String, _ error: Int32) -> SettingsFault {
        fault(path, "cannot be read: " + String(cString: strerror(error)))
    }

    private static func fault(_ path: String, _ message: String) -> SettingsFault {
        SettingsFault(path: "", message: "\(path) \(message)")
    }
}

/// The reader of the text of a configuration: a JSON object with comments.
public enum SettingsText {
    /// The most levels of arrays and objects in a configuration.
    static let maxDepth = 64

    /// Reads the text. Throws a fault with its position in the text.
    public static func parse(_ text: [UInt8]) throws(SettingsFault) -> DataObject {
        let plain = CommentStripper.strip(text)
        let scanner = JSONScanner(maxDepth: maxDepth)
        // Views do not keep their scanner's memory alive.
        defer { withExtendedLifetime(scanner) {} }
        return try plain.withUnsafeBufferPointer { bytes throws(SettingsFault) in
            let view: JSONView
            do throws(JSONFault) { view = try scanner.scan(UnsafeRawBufferPointer(bytes)) } catch {
                throw SettingsFault(path: "", message: problem(about: plain, error))
            }
            guard view.kind == .object else { throw SettingsFault(path: "", message: "must be an object: { … }") }
            // Parsers disagree on which of two equal keys counts.
            if let path = view.repeatedMember { throw SettingsFault(path: path, message: "appears twice") }
            return DataObject(view)
        }
    }

    private static func problem(about text: [UInt8], _ fault: JSONFault) -> String {
        switch fault {
        case .notJSON: located(JSONSyntaxError(about: text), in: text)
        case .notUTF8: "is not UTF-8"
        case .tooDeep: "is nested deeper than \(maxDepth)"
        case .tooLarge: "is too long"
        }
    }

    /// Returns the fault with its line and column, both counted from 1, as editors count them.
    private static func located(_ problem: JSONSyntaxError, in text: [UInt8]) -> String {
        let before = text.prefix(problem.offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // The bytes of a character after its first are 10xxxxxx.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return "line \(line), column \(column): \(problem.message)" + remark(on: text[problem.offset...])
    }

    /// Returns a hint if the text begins a comment that is not closed, or else an empty text. Closed comments were
    /// removed before.
    private static func remark(on rest: ArraySlice<UInt8>) -> String {
        rest.starts(with: "/*".utf8) ? " (a comment is not closed)" : ""
    }
}
