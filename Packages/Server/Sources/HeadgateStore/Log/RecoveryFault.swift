/// The reason why a log could not be recovered.
enum RecoveryFault: Error {
    case disk(DiskFault)
    /// A daemon with another version of the format wrote the log.
    case foreign(String)
    /// The log is encrypted, and its key is missing or another one.
    case locked(String)
    /// There is a log, and it has no initial state.
    case damaged(String)
    /// The files of a log that this process has written were removed.
    case gone
}

extension RecoveryFault {
    var isNoRoom: Bool {
        if case .disk(let fault) = self { fault.isNoRoom } else { false }
    }

    /// Does work on the disk as a part of a recovery.
    static func of<Value>(_ work: () throws(DiskFault) -> Value) throws(RecoveryFault) -> Value {
        do { return try work() } catch { throw .disk(error) }
    }
}
