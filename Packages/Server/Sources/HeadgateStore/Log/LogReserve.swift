/// What events leave of the segment that is written to while the next one has no file: were all taken by events, and there is no room
/// for another file, nobody could write down that some are needed no more (decisions 51 and 52).
///
/// Its first quarter is for all that is not an event. The second is not for what is settled, of which one word does as well as many. The third is
/// for dead letters that are deleted, which may hold a segment together with what is not settled yet. Of the last, one half is for what makes
/// room, and the other for the log's own word that segments are given up.
struct LogReserve {
    let bytes: Int

    /// An eighth of a whole segment, and half of a small one, which was made small since there is no room.
    init(in file: LogFile, _ options: StoreOptions) {
        bytes = min(LogReserve.most(options), file.size / 2)
    }

    /// Bytes in a whole segment.
    static func most(_ options: StoreOptions) -> Int { options.segmentSize / 8 }

    /// Who asks for room, the one who gets least of it first.
    enum Claim: Comparable {
        case events
        /// What is settled, which is said again with more.
        case settled
        /// Anything else that is asked for.
        case asked
        /// Dead letters are deleted.
        case deleted
        /// The log's own words.
        case own
    }

    /// Bytes that have to be left.
    /// - Parameter makesRoom: whether there is room for another file once it is written.
    func left(by claim: Claim, makesRoom: Bool = false) -> Int {
        let left =
            switch claim {
            case .events: bytes
            case .settled: bytes / 4 * 3
            case .asked: bytes / 2
            case .deleted: bytes / 4
            case .own: 0
            }
        return makesRoom ? min(left, bytes / 8) : left
    }
}

extension LogEntry {
    var claim: LogReserve.Claim {
        switch self {
        case .group: .events
        case .changes(let changes): changes.lazy.map(\.claim).max() ?? .own
        }
    }
}

extension LogChange {
    fileprivate var claim: LogReserve.Claim {
        switch self {
        // What is retained goes first on a full disk, so it may take no room that others need.
        case .asked(.retain): .events
        case .asked(.settled), .asked(.trim), .asked(.forgetRoutes), .asked(.forgetIDs): .settled
        case .asked(.limitLetters), .lettersGone: .deleted
        case .asked, .letter, .rewound: .asked
        case .forgotten, .replaced, .damaged, .givenUp: .own
        }
    }
}
