/// The file system, as far as a store needs it: what a store does to files it does through this, so that each call can
/// fail in a simulation, and a crash come between any two.
///
/// A file is used by one thread at a time. Paths are absolute.
package protocol Disk: AnyObject, Sendable {
    /// How long syncs take here; nil where nobody measures that.
    var syncTimes: SyncTimes? { get }

    /// Makes a directory that only its owner may use, and those above it that are missing. One that is there is no fault.
    func makeDirectory(_ path: String) throws(DiskFault)
    /// Opens a file for reading and writing. With `creating` one is made where there is none, and in any case only its owner
    /// may use it from then on.
    func open(_ path: String, creating: Bool) throws(DiskFault) -> any DiskFile
    /// Whether there is something of this name.
    func exists(_ path: String) -> Bool
    /// Bytes of a file; 0 where there is none.
    func size(of path: String) -> Int
    /// Which file a path names; nil where there is none, or where files cannot be told apart.
    func identity(of path: String) -> FileIdentity?
    /// The names in a directory, sorted.
    func list(_ directory: String) throws(DiskFault) -> [String]
    /// Gives a file another name; one that had it is gone.
    func rename(_ path: String, to new: String) throws(DiskFault)
    func remove(_ path: String) throws(DiskFault)
    /// Makes the names in a directory survive a power failure.
    func syncDirectory(_ path: String) throws(DiskFault)
}

extension Disk {
    package var syncTimes: SyncTimes? { nil }

    package func identity(of path: String) -> FileIdentity? { nil }
}

/// An open file. It is closed when nobody holds it any more.
package protocol DiskFile: AnyObject {
    func size() throws(DiskFault) -> Int
    /// Reads into a buffer.
    /// - Returns: how many bytes there were, fewer only at the file's end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskFault) -> Int
    /// Writes all bytes. After a fault some of them may be written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault)
    /// Returns true if the path still names this file: nobody has removed, renamed or replaced it, or a directory above it.
    func isStill(at path: String) -> Bool
    /// Cuts the file off, or lengthens it with zeros.
    func resize(to count: Int) throws(DiskFault)
    /// Takes room up to a size, so that writing there needs none; what is new reads as zeros.
    func preallocate(_ count: Int) throws(DiskFault)
    /// Makes what was written survive a power failure. After a fault nobody knows which of it does, and another attempt
    /// tells nothing of it.
    func sync() throws(DiskFault)
    /// Writes all bytes and syncs the file, with all that was written before. What stands behind them in their last block of 4 KiB may be
    /// zeros afterwards. After a fault all is as after one of ``sync()``.
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault)
    /// Begins to see to it that what has been written so far survives a power failure, while more is written.
    /// - Returns: false where that cannot be begun, or not now.
    func beginSync() -> Bool
    /// Whether what was begun has not ended.
    var isSyncing: Bool { get }
    /// Waits for the end of what was begun, if anything was. Before it another sync says nothing of what had been written until then; after a
    /// fault all is as after one of ``sync()``.
    func endSync() throws(DiskFault)
    /// Has the system begin to bring what was written here onto the disk, so that the sync to come has less to do. It promises nothing.
    func writeOut(_ range: Range<Int>)
    /// Nothing of the file is needed in memory any more, so that there is room for what comes. It promises nothing.
    func leaveCache()
    /// Takes the file for this process alone, as long as it is held.
    /// - Returns: false when another has it.
    func lock() throws(DiskFault) -> Bool
}

extension DiskFile {
    package func isStill(at path: String) -> Bool { true }

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

/// Why a disk did not do as asked.
package struct DiskFault: Error {
    /// The system's number: an `errno`.
    package var code: Int32
}
