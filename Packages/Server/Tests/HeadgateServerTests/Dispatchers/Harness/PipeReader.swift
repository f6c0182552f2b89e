import Foundation

/// The reading end of a pipe in a test.
enum PipeReader {
    /// Waits until something is in the pipe.
    static func waitForFirstByte(of descriptor: Int32) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&wanted, 1, -1) <= 0 || wanted.revents & Int16(POLLIN) == 0 {}
                continuation.resume()
            }
        }
    }

    /// All that is in the pipe now.
    static func contents(of descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = read(descriptor, &piece, piece.count), count > 0 {
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
