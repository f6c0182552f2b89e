import CUV
import Glibc

/// An error of a socket or the loop in this process. It is for the log and for people, and is never sent to a peer.
public enum TransportError: Error, Equatable, Sendable {
    /// Another process answers on this socket.
    case inUse(path: String)
    /// The path of the socket names another kind of file, which is left unchanged.
    case notASocket(path: String)
    /// The path is longer than ``UnixAddress/longestPath`` bytes; libuv would silently truncate it.
    case pathTooLong(path: String)
    /// The path is empty or has a NUL byte.
    case invalidPath(path: String)
    /// The directory of the socket does not exist and cannot be created. `code` is a negated `errno`.
    case noDirectory(path: String, code: Int32)
    /// An inherited descriptor is not a listening Unix stream socket.
    case notListening(fileDescriptor: Int32)
    /// The loop has stopped or is stopping.
    case loopClosed
    /// A call of libuv or the system failed. `code` is libuv's code, a negated `errno`.
    case system(operation: String, code: Int32, path: String? = nil)
}

extension TransportError {
    /// Returns the error of the last system call, from `errno`.
    static func last(_ operation: String, path: String? = nil) -> TransportError {
        .system(operation: operation, code: -errno, path: path)
    }

    /// Throws if a call of libuv returned an error code.
    static func check(_ code: Int32, _ operation: String) throws(TransportError) {
        guard code < 0 else { return }
        throw .system(operation: operation, code: code)
    }

    /// libuv's code (a negated `errno`); nil for other errors.
    public var code: Int32? {
        guard case .system(_, let code, _) = self else { return nil }
        return code
    }

    /// True if no process listens on the path: it does not exist, or its owner is gone.
    public var hasNoListener: Bool {
        code == UV_ECONNREFUSED.rawValue || code == UV_ENOENT.rawValue
    }
}

extension TransportError: CustomStringConvertible {
    /// The description of the error, for people.
    public var description: String {
        switch self {
        case .inUse(let path): "\(path): another process answers on this socket"
        case .notASocket(let path): "\(path): exists and is not a socket"
        case .pathTooLong(let path):
            "\(path): longer than \(UnixAddress.longestPath) bytes, the most for a socket's path"
        case .invalidPath(let path):
            path.isEmpty ? "the socket's path is empty" : "the socket's path contains a NUL byte"
        case .noDirectory(let path, let code):
            "cannot create the socket's directory \(path): \(Self.text(of: code)); choose another path for the socket"
        case .notListening(let number): "file descriptor \(number) is not a listening Unix stream socket"
        case .loopClosed: "the event loop has stopped"
        case .system(let operation, let code, let path):
            "\(path.map { "\($0): " } ?? "")\(operation): \(Self.text(of: code))"
        }
    }

    private static func text(of code: Int32) -> String {
        // uv_strerror would leak its text for an unknown code.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            // The force-unwrap is safe: an allocation of 128 bytes has a base address.
            String(cString: uv_strerror_r(code, buffer.baseAddress!, buffer.count))
        }
    }
}
