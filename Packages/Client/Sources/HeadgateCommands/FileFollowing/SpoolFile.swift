/// The file of a spool. Offsets and lengths count the bytes of the pipe.
protocol SpoolFile: Sendable {
    /// The number of bytes in the spool.
    var length: Int { get }
    /// The bytes that the spool takes on the disk.
    var size: Int { get }
    /// The last byte, or nil if the spool is empty.
    var lastByte: UInt8? { get }
    /// True if the spool has bytes that are not protected as the keys say now.
    var isOutdated: Bool { get }

    /// Returns at most this many bytes from an offset on.
    mutating func bytes(at offset: Int, upTo most: Int) throws(FollowFault) -> [UInt8]
    /// Moves at most this many bytes from a pipe to the end of the spool.
    /// - Parameter isRest: true if only the rest of a line is wanted.
    /// - Returns: the fault, or nil. Bytes that are not in the spool are in the pipe.
    mutating func take(_ most: Int, isRest: Bool, from pipe: Int32) -> FollowFault?
    /// Syncs the spool. Returns false for a failure, with its code in `errno`.
    func sync() -> Bool
    /// Empties the spool, also on the disk. Returns false for a failure, with its code in `errno`.
    mutating func empty() -> Bool
}
