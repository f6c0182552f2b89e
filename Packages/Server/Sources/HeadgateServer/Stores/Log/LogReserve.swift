/// What events leave of the segment that is written to while the next one has no file: were all taken by events, and there is no room
/// for another file, nobody could write down that some are needed no more (decision 51).
enum LogReserve {
    /// Bytes in a whole segment: an eighth of it.
    static func most(_ options: StoreOptions) -> Int { options.segmentSize / 8 }

    /// Bytes in a segment's file: as many as in a whole one, and half of a small one, which was made small since there is no room.
    static func bytes(of file: LogFile, _ options: StoreOptions) -> Int { min(most(options), file.size / 2) }

    /// Whether half of them are taken. The rest is for what makes room.
    static func isShort(in front: LogFront, _ options: StoreOptions) -> Bool {
        !front.hasRoom(beside: bytes(of: front.segment.file, options) / 2)
    }
}
