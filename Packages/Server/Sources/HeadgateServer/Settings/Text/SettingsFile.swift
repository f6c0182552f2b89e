import Glibc
import HeadgateData

/// A configuration file.
public enum SettingsFile {
    /// The most bytes that such a file may have.
    static let longest = 4 << 20

    /// Reads a file; throws a fault that says why it cannot be read, or where it is wrong.
    public static func read(_ path: String) throws(SettingsFault) -> DataObject {
        let text = try bytes(path)
        do throws(SettingsFault) {
            return try SettingsText.parse(text)
        } catch {
            throw SettingsFault(path: "", message: "\(path): \(error)")
        }
    }

    private static func bytes(_ path: String) throws(SettingsFault) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw unreadable(path, errno) }
        defer { close(file) }
        var text: [UInt8] = []
        while true {
            let piece = try readPiece(of: file, path)
            if piece.isEmpty { return text }
            text += piece
            guard text.count <= longest else { throw fault(path, "is longer than \(longest) bytes") }
        }
    }

    /// Reads on; nothing at the end. A pipe will do as well as a file.
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
