import CSQLite
import Glibc
import HeadgateCore

/// A fault of SQLite. It becomes a `StoreFault` before it leaves the store.
struct SQLiteError: Error {
    /// SQLite's extended result code.
    var code: Int32
    /// The system's error number (`errno`), if SQLite knows it.
    var systemCode: Int32 = 0
    /// True if the file has another version of the format.
    var isOtherVersion = false
    /// For people.
    var message: String

    /// The result code without its refinement.
    var primaryCode: Int32 { code & 0xff }

    /// True if the file itself is damaged, or no event store, so that another attempt would fail in the same way.
    var isDamage: Bool {
        primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB
    }

    /// True if there was no room on the disk (Behaviour Q8).
    private var isNoRoom: Bool {
        guard primaryCode != SQLITE_FULL else { return true }
        return primaryCode == SQLITE_IOERR && (systemCode == ENOSPC || systemCode == EDQUOT)
    }

    /// Returns the fault for callers that know nothing of SQLite.
    var fault: StoreFault {
        isOtherVersion ? .newerVersion(message) : isNoRoom ? .noRoom(message) : .failed(message)
    }
}
