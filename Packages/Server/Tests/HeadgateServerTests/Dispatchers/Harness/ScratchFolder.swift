import Foundation

/// A temporary folder of one test. Deinitialization removes the folder.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/senders-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestSocket.Failure(operation: "mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns a path inside the folder.
    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file inside the folder and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self(name)))
        return self(name)
    }

    /// Returns a file's text, or nil if there is no such file.
    func text(of name: String) -> String? {
        FileManager.default.contents(atPath: self(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a file's length in bytes.
    func size(of name: String) throws -> Int {
        var status = stat()
        guard stat(self(name), &status) == 0 else { throw TestSocket.Failure(operation: "stat") }
        return status.st_size
    }

    /// The names of all files in the folder, sorted.
    var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
    }
}

/// Makes a sparse file that is almost as large as the file system allows: one hole, and a line feed at its end.
/// A write that exceeds the remaining bytes fails midway.
enum LargestFile {
    static func make(at path: String, leaving left: Int) throws {
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw TestSocket.Failure(operation: "open") }
        defer { close(descriptor) }
        let size = largestSize(of: descriptor) - left
        guard ftruncate(descriptor, size) == 0, pwrite(descriptor, "\n", 1, size - 1) == 1 else {
            throw TestSocket.Failure(operation: "ftruncate")
        }
    }

    private static func largestSize(of descriptor: Int32) -> Int {
        var (possible, impossible) = (0, Int.max)
        guard ftruncate(descriptor, Int.max) != 0 else { return Int.max }
        while impossible - possible > 1 {
            let middle = possible + (impossible - possible) / 2
            if ftruncate(descriptor, middle) == 0 { possible = middle } else { impossible = middle }
        }
        return possible
    }
}

/// The reading end of a pipe in a test.
enum PipeReader {
    /// Waits until the pipe has data to read.
    static func waitForFirstByte(of descriptor: Int32) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var expected = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&expected, 1, -1) <= 0 || expected.revents & Int16(POLLIN) == 0 {}
                continuation.resume()
            }
        }
    }

    /// Reads and returns all data that the pipe has now.
    static func contents(of descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = read(descriptor, &piece, piece.count), count > 0 {
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
