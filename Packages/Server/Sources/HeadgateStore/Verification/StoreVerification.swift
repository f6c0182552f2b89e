import HeadgateCore
import HeadgateEncryption

/// Reads a log as a start does, with every event and dead letter, and reports its content and its damage. It changes
/// nothing (`headgated --verify`, Behaviour Q8).
public struct StoreVerification {
    /// The data directory.
    private let directory: String
    /// The keys; nil if there are none.
    private let keyring: Keyring?

    public init(directory: String, keyring: Keyring? = nil) {
        (self.directory, self.keyring) = (directory, keyring)
    }

    /// Returns true if some dispatcher has events to send in the log, or there are dead letters.
    package func holdsAnything() throws(StoreFault) -> Bool {
        let state = try open().state
        return !state.warnings.isEmpty || state.holdsAnything
    }

    /// - Throws: an error if a daemon uses the log, or it cannot be read at all.
    public func run() throws(StoreFault) -> StoreReport {
        do throws(StoreFault) { return try readAll() } catch {
            guard case .locked(let reason) = error else { throw error }
            return try LockedVerification(directory: directory).run(reason)
        }
    }

    private func readAll() throws(StoreFault) -> StoreReport {
        let opened = try open()
        var report = try StoreReport(
            kind: "log", state: opened.state, read: opened.engine.read, readDeadLetters: opened.engine.readDeadLetters)
        (report.diskBytes, report.damaged) = (opened.engine.log.files.bytes, opened.engine.log.losses.quarantined)
        return report
    }

    private func open() throws(StoreFault) -> OpenedStore {
        var options = StoreOptions(directory: directory)
        (options.disk, options.keyring) = (OverlayDisk(), keyring)
        return try options.open()
    }
}
