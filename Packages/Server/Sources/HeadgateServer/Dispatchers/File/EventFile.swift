import Glibc

/// The file of a dispatcher of kind `file`, through rotations and whatever others do to it (Behaviour K2).
// Unchecked: a sender hands it to its file's own thread, and all is called there alone.
final class EventFile: @unchecked Sendable {
    private let settings: FileSettings
    private let clock: @Sendable () -> Int64
    private var file: OpenFile?

    /// - Parameter clock: Nanoseconds of the monotonic clock.
    init(_ settings: FileSettings, clock: @escaping @Sendable () -> Int64) {
        self.settings = settings
        self.clock = clock
    }

    /// Appends whole lines. When this returns they are on the disk; when it throws, none of them is in the file. A file
    /// that is due is rotated before.
    func append(_ lines: [UInt8]) throws(FileFault) {
        let file = try fileWithRoom(for: lines.count)
        do throws(FileFault) {
            try file.append(lines)
        } catch {
            // Opening it anew makes it whole. A stream stays: only this object knows whether it is within a line.
            if file.isRegular { close() }
            throw error
        }
    }

    /// Closes the file; the next append opens it again.
    func close() {
        file = nil
    }

    private func fileWithRoom(for count: Int) throws(FileFault) -> OpenFile {
        let file = try currentFile()
        guard file.isRegular, try isDue(file, before: count) else { return file }
        close()
        try Rotation(path: settings.path, keep: settings.keep).run()
        return try currentFile()
    }

    private func currentFile() throws(FileFault) -> OpenFile {
        if let file, file.isStill(at: settings.path) { return file }
        // Closed first: a lock would be in its own successor's way.
        close()
        let opened = try OpenFile(path: settings.path, now: clock())
        file = opened
        return opened
    }

    private func isDue(_ file: OpenFile, before count: Int) throws(FileFault) -> Bool {
        let size = try file.size()
        guard size > 0 else { return false }
        if let most = settings.rotateBytes, size + count > most { return true }
        guard let oldest = settings.rotateAge else { return false }
        return file.ageAtOpening + .nanoseconds(clock() - file.openedAt) >= oldest
    }
}
