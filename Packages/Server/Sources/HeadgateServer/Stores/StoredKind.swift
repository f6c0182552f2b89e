import Glibc
import HeadgateCore
import HeadgateData
import HeadgateEncryption
import HeadgateSQLiteStore

/// The kind of event store that a data directory has. A start with another kind is refused while the directory holds
/// events or dead letters (Behaviour Q1).
struct StoredKind {
    /// The data directory.
    let directory: String
    /// The keys of an encrypted log; nil if there are none.
    var keyring: Keyring?

    static func database(in directory: String) -> String { directory + "/events.db" }

    /// Renames an empty store of the other kind, so that the directory has no store but one of this kind.
    /// - Returns: a note for the log, or nil if no store was renamed.
    /// - Throws: if the other store has events or dead letters. Nothing is changed then.
    func makeRoom(for kind: StoreKind) throws(StoreFault) -> String? {
        let other: StoreKind = kind == .log ? .sqlite : .log
        guard isThere(other) else { return nil }
        guard try !holdsAnything(other) else {
            throw .failed(
                "\(directory) holds an event store of kind \(other.rawValue), and the settings ask for \(kind.rawValue): start with "
                    + "`\"kind\": \"\(other.rawValue)\"` in `store` and drain it, or move its events with `headgate export` and "
                    + "`headgate send`; nothing was changed")
        }
        let name = try setAside(other)
        return "the empty event store of kind \(other.rawValue) was renamed to \(name)"
    }

    func isThere(_ kind: StoreKind) -> Bool {
        switch kind {
        case .log: SystemDisk().hasLog(in: directory)
        case .sqlite: access(StoredKind.database(in: directory), F_OK) == 0
        }
    }

    /// Returns true if a store has events or dead letters, or if it cannot be read. Throws if a daemon uses it.
    private func holdsAnything(_ kind: StoreKind) throws(StoreFault) -> Bool {
        do throws(StoreFault) {
            switch kind {
            case .log: return try StoreVerification(directory: directory, keyring: keyring).holdsAnything()
            case .sqlite:
                let held = try DataDirectory(directory)
                defer { withExtendedLifetime(held) {} }
                return try SQLiteVerification(path: StoredKind.database(in: directory)).holdsAnything()
            }
        } catch {
            if case .inUse = error { throw error }
            return true
        }
    }

    private func setAside(_ kind: StoreKind) throws(StoreFault) -> String {
        let held = try DataDirectory(directory)
        let now = Timestamp.ofSystem
        switch kind {
        case .log: return try held.setAside(directory + "/log", as: "unused", at: now)
        case .sqlite:
            let path = StoredKind.database(in: directory)
            // The write-ahead log is renamed first, so that SQLite never applies it to another database.
            for suffix in ["-wal", "-shm"] where access(path + suffix, F_OK) == 0 {
                _ = try held.setAside(path + suffix, as: "unused", at: now)
            }
            return try held.setAside(path, as: "unused", at: now)
        }
    }
}

/// A verification of the event store of a data directory, of either kind. It reports the store's contents and damage,
/// and changes nothing (`headgated --verify`, Behaviour Q8).
public struct DirectoryVerification {
    private let directory: String
    private let keyring: Keyring?

    /// - Parameters:
    ///   - directory: the data directory.
    ///   - keyring: the keys of an encrypted log; nil if there are none.
    public init(directory: String, keyring: Keyring? = nil) {
        (self.directory, self.keyring) = (directory, keyring)
    }

    /// - Throws: when there is no store, a daemon uses it, or it cannot be read at all.
    public func run() throws(StoreFault) -> StoreReport {
        let kind = StoredKind(directory: directory)
        if kind.isThere(.log) { return try StoreVerification(directory: directory, keyring: keyring).run() }
        guard kind.isThere(.sqlite) else { throw .failed("there is no event store in \(directory)") }
        // The overlay keeps the lock's file on the disk unchanged.
        let held = try DataDirectory(directory, on: OverlayDisk())
        defer { withExtendedLifetime(held) {} }
        return try SQLiteVerification(path: StoredKind.database(in: directory)).run()
    }
}
