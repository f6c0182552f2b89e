import Foundation
import Synchronization

/// A proxy before a daemon's socket that forwards everything and records the requests.
final class TrafficRecorder: Sendable {
    let path: String
    private let target: String
    private let listener: Int32
    private let lines = Mutex<[UInt8]>([])

    init(at path: String, before target: String) throws {
        self.path = path
        self.target = target
        listener = try UnixSocket.listen(at: path)
        Thread.detachNewThread { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 { join(client) }
        }
    }

    /// The methods that were called, in order.
    var received: [String] {
        lines.withLock { lines in
            lines.split(separator: UInt8(ascii: "\n")).compactMap { line in
                try? JSON(parsing: String(decoding: line, as: UTF8.self))["method"].string
            }
        }
    }

    private func join(_ client: Int32) {
        let daemon = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard UnixSocket.connect(daemon, to: target) == 0 else {
            close(daemon)
            close(client)
            return
        }
        Thread.detachNewThread { [self] in
            pump(from: client, to: daemon) { bytes in lines.withLock { $0 += bytes } }
        }
        Thread.detachNewThread { [self] in pump(from: daemon, to: client) { _ in } }
    }

    private func pump(from source: Int32, to target: Int32, _ note: (ArraySlice<UInt8>) -> Void) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(source, &chunk, chunk.count, 0), count > 0 {
            note(chunk[..<count])
            guard send(target, chunk, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(target, Int32(SHUT_RDWR))
    }
}
