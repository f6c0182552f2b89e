import Glibc
import HeadgateTransport

/// Reads a descriptor on a thread of its own: a file, a pipe or a person may each keep its reader waiting.
final class InputReader: Sendable {
    /// Why reading failed.
    struct Failure: Error, CustomStringConvertible {
        let code: Int32

        var description: String { "cannot read standard input: \(String(cString: strerror(code)))" }
    }

    private let descriptor: Int32
    private let thread: EventLoop

    init(_ descriptor: Int32) throws(TransportError) {
        self.descriptor = descriptor
        thread = try EventLoop.onNewThread(named: "headgate-input")
    }

    deinit {
        thread.stop()
    }

    /// Reads what is there, at least one byte unless it is the end, and hands it out on the reader's thread.
    func read(_ completion: @escaping @Sendable (Result<[UInt8], Failure>) -> Void) {
        thread.submit { [descriptor] in completion(InputReader.read(descriptor)) }
    }

    private static func read(_ descriptor: Int32) -> Result<[UInt8], Failure> {
        while true {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
                let size = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                failure = size < 0 ? errno : 0
                count = max(0, size)
            }
            switch failure {
            case 0: return .success(bytes)
            case EINTR: continue
            case EAGAIN: waitUntilReadable(descriptor)
            default: return .failure(Failure(code: failure))
            }
        }
    }

    /// Somebody who shares the descriptor may have made it non-blocking.
    private static func waitUntilReadable(_ descriptor: Int32) {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&state, 1, -1)
    }
}
