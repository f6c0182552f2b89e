import Glibc

/// Why something cannot be written to a dispatcher's file: a few words for people, always the same for the same cause.
struct FileFault: Error, Equatable {
    var cause: String

    init(cause: String) {
        self.cause = cause
    }

    /// The failure of the call just made.
    static var last: FileFault {
        FileFault(code: errno)
    }

    init(code: Int32) {
        cause =
            switch code {
            case ENOSPC: "no space left on device"
            case EDQUOT: "disk quota exceeded"
            case EACCES, EPERM: "permission denied"
            case EROFS: "read-only file system"
            case ENOENT: "no such directory"
            case ENXIO, EPIPE: "nobody reads the pipe"
            case EWOULDBLOCK: "in use by another process"
            default: String(cString: strerror(code)).lowercased()
            }
    }
}
