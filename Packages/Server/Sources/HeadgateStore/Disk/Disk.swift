import HeadgateCore

/// The file system as a store uses it. All its file operations are calls of this protocol, so that a simulation can let
/// each call fail, and crash between any two.
///
/// A file is used by one thread at a time. Paths are absolute.
package protocol Disk: AnyObject, Sendable {
    /// The durations of syncs; nil if they are not measured.
    var syncTimes: SyncTimes? { get }

    /// Creates a directory that only its owner may use, and missing ones above it. An existing directory is no fault.
    func makeDirectory(_ path: String) throws(DiskFault)
    /// Opens a file for reading and writing. With `creating` a missing file is created, and in any case only its owner
    /// may use the file from then on.
    func open(_ path: String, creating: Bool) throws(DiskFault) -> any DiskFile
    /// Opens a directory, to lock it; nil if this disk has no locks of directories.
    func openDirectory(_ path: String) throws(DiskFault) -> (any DiskFile)?
    /// Returns true if the path exists.
    func exists(_ path: String) -> Bool
    /// Returns the names in a directory, sorted.
    func list(_ directory: String) throws(DiskFault) -> [String]
    /// Renames a file. A file that had the new name is removed.
    func rename(_ path: String, to new: String) throws(DiskFault)
    func remove(_ path: String) throws(DiskFault)
    /// Syncs the names in a directory, so that they survive a power failure.
    func syncDirectory(_ path: String) throws(DiskFault)
}

extension Disk {
    package var syncTimes: SyncTimes? { nil }

    package func openDirectory(_ path: String) throws(DiskFault) -> (any DiskFile)? { nil }
}

/// An open file. It is closed when its last reference is released.
package protocol DiskFile: AnyObject {
    func size() throws(DiskFault) -> Int
    /// Reads into a buffer.
    /// - Returns: the number of bytes, which is smaller than the buffer only at the file's end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskFault) -> Int
    /// Writes all bytes. After a fault some of them may be written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault)
    /// Returns true if the path still names this file, so that neither it nor a directory above it was removed, renamed
    /// or replaced, and if the file has not been truncated to less than `count` bytes.
    func isStill(at path: String, holding count: Int) -> Bool
    /// Truncates the file, or lengthens it with zeros.
    func resize(to count: Int) throws(DiskFault)
    /// Allocates room up to a size. New bytes read as zeros.
    func preallocate(_ count: Int) throws(DiskFault)
    /// Syncs the file, so that writes survive a power failure. After a fault it is unknown which writes do, and another
    /// sync does not reveal it.
    func sync() throws(DiskFault)
    /// Writes all bytes, and syncs the file with all earlier writes. The rest of their last block of 4 KiB may be zeros
    /// afterwards. A fault means the same as one of ``sync()``.
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault)
    /// Begins to sync the writes so far in the background.
    /// - Returns: false if that is not possible, or not now.
    func beginSync() -> Bool
    /// True if a background sync is in progress.
    var isSyncing: Bool { get }
    /// Waits for the end of the background sync, if there is one. While it runs, the success of another sync proves
    /// nothing about the earlier writes. A fault means the same as one of ``sync()``.
    func endSync() throws(DiskFault)
    /// Asks the system to begin writing a range to the disk, so that the next sync has less to do. It promises nothing.
    func writeOut(_ range: Range<Int>)
    /// Tells the system that the file is not needed in memory any more. It promises nothing.
    func leaveCache()
    /// Locks the file for this process, until it is closed.
    /// - Returns: false if another process has locked it.
    func lock() throws(DiskFault) -> Bool
}

extension DiskFile {
    package func isStill(at path: String, holding count: Int) -> Bool { true }

    package func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        try write(bytes, at: offset)
        try sync()
    }

    package func beginSync() -> Bool { false }

    package var isSyncing: Bool { false }

    package func endSync() throws(DiskFault) {}

    package func writeOut(_ range: Range<Int>) {}

    package func leaveCache() {}
}

/// The reason why an operation of the disk failed.
package struct DiskFault: Error, Equatable {
    /// The system's error number (`errno`).
    package var code: Int32
    /// The fault to report in place of the error number; nil if the number says enough.
    package var cause: StoreFault?
}
