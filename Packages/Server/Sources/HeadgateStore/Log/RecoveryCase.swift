/// The facts about a log that a start finds, or a running log after a failed sync.
struct LogEvidence: Equatable {
    /// True if some segment begins with a sound snapshot, so that there is an initial state.
    var hasStart: Bool
    /// True if there are files that are segments, or that were written and cannot be read.
    var hasFiles: Bool
    /// True if this process has written the log, and one of its writes or syncs failed.
    var isOwn: Bool
    /// True if nothing that had been on the disk is damaged or lost.
    var isWhole: Bool
    /// True if the last frame is a closing frame: the daemon stopped in order.
    var isClosed: Bool
    /// True if every frame, except the closing frame, was on the disk when a later frame or header was written.
    var isCertain: Bool
    /// True if the newest segment begins with a sound snapshot of its own.
    var hasOwnStart: Bool
    /// True if there is room on the disk for another segment.
    var hasRoom: Bool

    /// True if the facts can be true together.
    var isPossible: Bool {
        // A snapshot is in a file.
        guard hasFiles || !hasStart else { return false }
        // Without a snapshot no frame is read, so that nothing is known of frames.
        return hasStart || !(isClosed || isCertain || hasOwnStart)
    }
}

/// The way in which a log is continued.
enum RecoveryAction: Equatable {
    /// Begin a fresh log.
    case begin
    /// The files were taken away. Continue in new files, with the whole state but the events.
    case renew
    /// Set the log aside as damaged, and begin a fresh one.
    case setAside
    /// Continue the segment. A restart marker replaces the closing frame.
    case resume
    /// Write the doubtful frames again, into a new segment that begins with the certain state.
    case rewrite
    /// Write the doubtful frames again in place, and continue the segment.
    case affirm
    /// Fail because there is no room. The log stays as it is.
    case refuse
}

/// A combination of facts, its only possible meaning, and the action.
///
/// Each possible combination matches exactly one case (`RecoveryCaseTests`).
struct RecoveryCase {
    let label: Character
    let action: RecoveryAction
    private let matches: (LogEvidence) -> Bool

    private init(_ label: Character, _ action: RecoveryAction, _ matches: @escaping (LogEvidence) -> Bool) {
        (self.label, self.action, self.matches) = (label, action, matches)
    }

    func matches(_ evidence: LogEvidence) -> Bool { matches(evidence) }

    /// Returns the case of some facts. Only one case matches.
    static func of(_ evidence: LogEvidence) -> RecoveryCase? { all.first { $0.matches(evidence) } }

    // Computed, since closures are not Sendable. A start reads it once or twice.
    static var all: [RecoveryCase] {
        [
            // A. No file was ever a segment. The directory is new, or the daemon was killed before it had written the
            // header of its first segment. No event was ever acknowledged.
            RecoveryCase("A", .begin) { !$0.hasFiles && !$0.isOwn },

            // B. There were segments, and none of them can be read from its beginning: all snapshots are damaged, or
            // all headers. There is no initial state for the frames after them.
            RecoveryCase("B", .setAside) { $0.hasFiles && !$0.hasStart },

            // C. The daemon stopped in order, and nothing is damaged. The closing frame was synced with everything
            // before it. If that sync failed, only the closing frame is in doubt, and what it says is true. It must
            // not count again after this process has written more, so a restart marker replaces it.
            RecoveryCase("C", .resume) { $0.isOrderly },

            // D. A write or a sync of this process failed. The content of the newest segment on the disk is unknown,
            // and another sync would not reveal it. This process knows which numbers it has given, and does not give
            // them again.
            RecoveryCase("D", .rewrite) { $0.hasStart && $0.isOwn && $0.hasRoom },

            // E. Something that had been on the disk is damaged or lost. The rest is sound, whether the daemon stopped
            // in order or not. Numbers of events that may have been in the damaged part are not given again.
            RecoveryCase("E", .rewrite) { $0.isForeign && !$0.isWhole && $0.hasRoom },

            // F. The daemon was killed, or the power failed: there is no closing frame. Frames after the certain ones
            // can be read, and may never have been synced.
            RecoveryCase("F", .rewrite) { $0.isForeign && $0.isWhole && !$0.isClosed && $0.hasRoom },

            // G. There is a closing frame, and frames before it are in doubt: the sync at the stop failed, or no later
            // frame proves them. They are written again, as after a kill.
            RecoveryCase("G", .rewrite) {
                $0.isForeign && $0.isWhole && $0.isClosed && !$0.isCertain && $0.hasRoom
            },

            // H. As D to G, on a full disk. The newest segment does not need the one before it, so that it is continued
            // in place once all doubtful frames have been written again and synced (decision 52).
            RecoveryCase("H", .affirm) { $0.isUncertain && !$0.hasRoom && $0.hasOwnStart },

            // I. A write or a sync of this process failed, and no file of its log is left: somebody has taken them away
            // (decision 73). A fresh log would forget dispatchers and routes that this process uses.
            RecoveryCase("I", .renew) { !$0.hasFiles && $0.isOwn },

            // J. As H, but the snapshot of the newest segment is damaged, so that it needs the segment before it.
            // Continuing it would keep that segment for good, and a full disk may have to drop it. There is no good
            // answer: a start fails, and a running log refuses writes, until there is room.
            RecoveryCase("J", .refuse) { $0.isUncertain && !$0.hasRoom && !$0.hasOwnStart },
        ]
    }
}

extension LogEvidence {
    /// True if another process has written the log.
    fileprivate var isForeign: Bool { hasStart && !isOwn }

    /// True if another process has written the log and stopped in order, and only the last frame can be in doubt.
    fileprivate var isOrderly: Bool { isForeign && isWhole && isClosed && isCertain }

    /// True if there is a log, and it cannot be continued as it is.
    fileprivate var isUncertain: Bool { hasStart && !isOrderly }
}
