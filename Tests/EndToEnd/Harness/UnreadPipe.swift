import Foundation

/// A named pipe that the test holds open, and that only `text(until:)` reads.
final class UnreadPipe {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        _ = try SystemError.check(mkfifo(path, 0o600), "mkfifo \(path)")
        descriptor = try SystemError.check(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC), "open \(path)")
    }

    deinit { close(descriptor) }

    /// Fills the pipe completely.
    func fill() {
        for piece in [4096, 1] {
            let bytes = [UInt8](repeating: UInt8(ascii: "."), count: piece)
            while write(descriptor, bytes, bytes.count) > 0 {}
        }
    }

    /// Reads until the text, without the filler, contains `words`, and returns it.
    func text(until words: String) async throws -> String {
        var text = ""
        try await eventually("`\(words)` in \(path)") {
            text += unread()
            return text.contains(words)
        }
        return text
    }

    private func unread() -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].drop { $0 == UInt8(ascii: ".") }, as: UTF8.self) : ""
    }
}
