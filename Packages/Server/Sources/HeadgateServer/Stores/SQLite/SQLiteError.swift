import CSQLite
import Glibc
import HeadgateCore

/// What SQLite answered instead of doing as asked. Local: it becomes a `StoreFault` before it leaves the store.
struct SQLiteError: Error {
    /// SQLite's extended result code.
    var code: Int32
    /// What the system said, where SQLite knows: an `errno`.
    var systemCode: Int32 = 0
    /// For people.
    var message: String

    /// The result code without its refinement.
    var primaryCode: Int32 { code & 0xff }

    /// Whether the file itself is broken, so that another attempt would end the same.
    var isDamage: Bool {
        primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB
    }

    /// Whether there was no room on the disk (Behaviour Q8).
    private var isNoRoom: Bool {
        guard primaryCode != SQLITE_FULL else { return true }
        return primaryCode == SQLITE_IOERR && (systemCode == ENOSPC || systemCode == EDQUOT)
    }

    /// The same for those who know nothing of SQLite.
    var fault: StoreFault {
        isNoRoom ? .noRoom(message) : .failed(message)
    }
}
