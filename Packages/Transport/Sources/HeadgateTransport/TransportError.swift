import CUV
import Glibc

/// What went wrong on this side of a socket or in the loop. It is for the log and for people, and never crosses the
/// wire.
public enum TransportError: Error, Equatable, Sendable {
    /// Another process answers on this socket.
    case inUse(path: String)
    /// Something else than a socket lies where the socket should be; it is left untouched.
    case notASocket(path: String)
    /// The kernel takes at most ``UnixAddress/longestPath`` bytes, and libuv would silently cut the rest.
    case pathTooLong(path: String)
    /// An empty path, or one with a NUL byte.
    case invalidPath(path: String)
    /// An inherited descriptor that is no listening Unix stream socket.
    case notListening(fileDescriptor: Int32)
    /// The loop has stopped, or is about to.
    case loopClosed
    /// A call that libuv or the system refused; `code` is libuv's, that is a negated `errno`.
    case system(operation: String, code: Int32, path: String? = nil)
}

extension TransportError {
    /// The failure of the call just made, from `errno`.
    static func last(_ operation: String, path: String? = nil) -> TransportError {
        .system(operation: operation, code: -errno, path: path)
    }

    /// Throws when a call of libuv gave an error code.
    static func check(_ code: Int32, _ operation: String) throws(TransportError) {
        guard code < 0 else { return }
        throw .system(operation: operation, code: code)
    }

    /// libuv's code (a negated `errno`), where there is one.
    public var code: Int32? {
        guard case .system(_, let code, _) = self else { return nil }
        return code
    }

    /// Whether nobody listens on the path: it does not exist, or its owner is gone.
    public var isNobodyThere: Bool {
        code == UV_ECONNREFUSED.rawValue || code == UV_ENOENT.rawValue
    }
}

extension TransportError: CustomStringConvertible {
    /// What went wrong, for people.
    public var description: String {
        switch self {
        case .inUse(let path): "\(path): another process answers on this socket"
        case .notASocket(let path): "\(path): exists and is not a socket"
        case .pathTooLong(let path):
            "\(path): longer than the \(UnixAddress.longestPath) bytes that a socket's path may have"
        case .invalidPath(let path):
            path.isEmpty ? "the socket's path is empty" : "the socket's path has a NUL byte in it"
        case .notListening(let number): "file descriptor \(number) is not a listening Unix stream socket"
        case .loopClosed: "the event loop has stopped"
        case .system(let operation, let code, let path):
            "\(path.map { "\($0): " } ?? "")\(operation): \(Self.text(of: code))"
        }
    }

    private static func text(of code: Int32) -> String {
        // uv_strerror would leak its text for a code that it does not know.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            // An allocation of 128 bytes always has a base address.
            String(cString: uv_strerror_r(code, buffer.baseAddress!, buffer.count))
        }
    }
}
