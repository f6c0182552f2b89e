import HeadgateData
import HeadgateTransport

extension SettingsReader {
    /// The path of a Unix socket.
    func socketPath(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        if path.utf8.count <= UnixAddress.longestPath { return path }
        fault(key, "", "must be a path of at most \(UnixAddress.longestPath) bytes")
        return nil
    }
}
