/// The room of the active segment that events must leave free while the next segment has no file. If events took this
/// room and the disk were full, no frame could record that events are no longer needed (decisions 51 and 52).
///
/// Settlements must leave three quarters of the reserve, because one settlement can stand for many. Other changes must
/// leave half. Deletions of dead letters must leave a quarter, because dead letters may keep a segment together with
/// unsettled events. Changes that make room must leave an eighth, for the frame that drops segments.
struct LogReserve {
    let bytes: Int

    /// Reserves an eighth of a whole segment, or half of a segment that was made small for want of room.
    init(in file: LogFile, _ options: StoreOptions) {
        bytes = min(LogReserve.most(options), file.size / 2)
    }

    /// The reserve of a whole segment.
    static func most(_ options: StoreOptions) -> Int { options.segmentSize / 8 }

    /// The claims to room, the weakest first.
    enum Claim: Comparable {
        case events
        /// Settlements, which are repeated with more.
        case settled
        /// Other requested changes.
        case requested
        /// Deletions of dead letters.
        case deleted
        /// Changes of the log itself.
        case own
    }

    /// Returns the bytes that must stay free.
    /// - Parameter makesRoom: true if there is room for another file once the entry is written.
    func left(by claim: Claim, makesRoom: Bool = false) -> Int {
        let left =
            switch claim {
            case .events: bytes
            case .settled: bytes / 4 * 3
            case .requested: bytes / 2
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
        // Retained events are dropped first on a full disk, so that they take no room from others.
        case .requested(.retain): .events
        case .requested(.settled), .requested(.trim), .requested(.forgetRoutes), .requested(.forgetIDs): .settled
        case .requested(.limitDeadLetters), .deadLettersGone, .erased: .deleted
        case .requested, .numberedDeadLetter, .rewound, .routes: .requested
        case .forgotten, .replaced, .damaged, .unretained, .erasureEnded: .own
        }
    }
}
