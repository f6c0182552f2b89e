/// The segments before the active one, which are not written any more, and the files of former segments that cannot be freed
/// yet.
///
/// A file is *obsolete* from the moment at which a frame says that its segment is not needed. Its bytes must stay until that
/// frame is on the disk (invariant 6): after a power failure the log may be without the frame.
struct SealedSegments {
    private var byNumber: [UInt64: LogSegment]
    /// The files to free once everything that was written is on the disk.
    private(set) var obsolete: [LogFile] = []

    init(_ segments: [UInt64: LogSegment]) {
        byNumber = segments
    }

    subscript(_ number: UInt64) -> LogSegment? { byNumber[number] }

    /// The segments by their numbers.
    var all: [UInt64: LogSegment] { byNumber }

    /// Adds a segment.
    mutating func add(_ segment: LogSegment) { byNumber[segment.number] = segment }

    /// Forgets the segments that are not among the entries of the state.
    mutating func keep(only entries: [LogSegmentEntry]) {
        let known = Set(entries.map(\.number))
        byNumber = byNumber.filter { known.contains($0.key) }
    }

    /// Makes files obsolete. A new segment may have done so already.
    mutating func retire(_ files: [LogFile]) { obsolete += files.filter { !obsolete.contains($0) } }

    /// Frees the obsolete files. Call it only when the frames that made them obsolete are on the disk.
    mutating func freeObsolete(in files: LogFiles) {
        for file in obsolete { files.free(file) }
        obsolete = []
    }
}
