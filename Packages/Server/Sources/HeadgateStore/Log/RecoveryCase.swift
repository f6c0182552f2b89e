/// The facts that a start, or a daemon whose sync has failed, finds about a log.
struct LogEvidence: Equatable {
    /// Some segment begins with a sound snapshot, so that there is a state to begin with.
    var hasStart: Bool
    /// There are files that are segments, or were written and cannot be read.
    var hasFiles: Bool
    /// The process that looks has written the log itself, and one of its writes or syncs failed.
    var isOwn: Bool
    /// Nothing that had been on the disk is damaged or lost.
    var isWhole: Bool
    /// The last frame says that the daemon stopped in order.
    var isClosed: Bool
    /// Every frame, but for the one that says that the daemon stopped, was on the disk when a later frame or header was written.
    var isCertain: Bool
    /// A foundation lies right before the frame that says that the daemon stopped.
    var isFounded: Bool
    /// The newest segment begins with a sound snapshot of its own.
    var hasOwnStart: Bool
    /// There is room on the disk for another segment.
    var hasRoom: Bool

    /// A Boolean value that says whether facts can be true together.
    var isPossible: Bool {
        // A snapshot lies in a file.
        guard hasFiles || !hasStart else { return false }
        // Without a start no frame is read, and nothing can be said of frames.
        guard hasStart || !(isClosed || isCertain || isFounded || hasOwnStart) else { return false }
        // A foundation is looked for only before a frame that says that the daemon stopped.
        return isClosed || !isFounded
    }
}

/// The way in which a log is gone on with.
enum RecoveryAction: Equatable {
    /// A fresh log is begun.
    case begin
    /// The files were taken away: the log is gone on with in new ones, with all that this life knows beside the events.
    case renew
    /// The log is set aside as damaged, and a fresh one is begun.
    case setAside
    /// The segment is gone on with. A foundation takes the place of the frame that says that the daemon stopped.
    case resume
    /// The segment is gone on with. Zeros take the place of the frame that says that the daemon stopped.
    case resumeFounded
    /// Whatever is in doubt is written anew, into a segment that begins with all that is certain.
    case rewrite
    /// Whatever is in doubt is written once more where it lies, and the segment is gone on with.
    case affirm
    /// The start fails for want of room, and changes nothing that counts.
    case refuse
}

/// A combination of facts, what it can only mean, and what is done about it.
///
/// Each possible combination matches exactly one case (`RecoveryCaseTests`).
struct RecoveryCase {
    let letter: Character
    let action: RecoveryAction
    private let matches: (LogEvidence) -> Bool

    private init(_ letter: Character, _ action: RecoveryAction, _ matches: @escaping (LogEvidence) -> Bool) {
        (self.letter, self.action, self.matches) = (letter, action, matches)
    }

    func matches(_ evidence: LogEvidence) -> Bool { matches(evidence) }

    /// Returns the case of some facts. The first that matches wins, and there is no other.
    static func of(_ evidence: LogEvidence) -> RecoveryCase? { all.first { $0.matches(evidence) } }

    // Computed, since closures are not Sendable; a start asks once or twice.
    static var all: [RecoveryCase] {
        [
            // A. There is no file that was ever a segment: the directory is new, or the daemon was killed before it had begun its first
            // segment, of which the header is written last. Nobody was ever told that anything is stored.
            RecoveryCase("A", .begin) { !$0.hasFiles && !$0.isOwn },

            // B. There were segments, and not one of them can be read from its beginning: all snapshots are damaged, or all headers. What the
            // frames behind them say has no state to begin with.
            RecoveryCase("B", .setAside) { $0.hasFiles && !$0.hasStart },

            // C. The daemon stopped in order, and nothing is damaged. The frame that says so was synced with all before it, or the stop failed
            // and only that frame is in doubt: then it says the truth all the same. It must not count once more, with what this life writes
            // behind it, so that a foundation takes its place.
            RecoveryCase("C", .resume) { $0.isOrderly && !$0.isFounded },

            // D. As C, and the life before had gone on in the same segment without writing anything. The foundation that it began with lies
            // there already, so that stops and starts take no room.
            RecoveryCase("D", .resumeFounded) { $0.isOrderly && $0.isFounded },

            // E. A write or a sync of this life failed. Nobody knows what of the newest segment is on the disk, and another sync says nothing
            // of it. Whatever it has written is known, so that its numbers are not given again.
            RecoveryCase("E", .rewrite) { $0.hasStart && $0.isOwn && $0.hasRoom },

            // F. Something that had been on the disk is damaged or lost. The rest is sound, whether the daemon stopped in order or not. Numbers
            // of events that may have lain in the damaged part are not given again.
            RecoveryCase("F", .rewrite) { $0.isForeign && !$0.isWhole && $0.hasRoom },

            // G. The daemon was killed, or the power failed: no frame says that it stopped. Frames behind the last that are certain can be
            // read, and may never have been synced.
            RecoveryCase("G", .rewrite) { $0.isForeign && $0.isWhole && !$0.isClosed && $0.hasRoom },

            // H. A frame says that the daemon stopped, and others before it are in doubt: the sync at the stop failed, or is not proven by
            // anything behind it. They are written anew, as after a kill.
            RecoveryCase("H", .rewrite) {
                $0.isForeign && $0.isWhole && $0.isClosed && !$0.isCertain && $0.hasRoom
            },

            // I. As E to H, on a full disk. The newest segment can stand by itself, so that it is gone on with where it is, once all that is
            // in doubt has been written again and synced (decision 52).
            RecoveryCase("I", .affirm) { $0.isUncertain && !$0.hasRoom && $0.hasOwnStart },

            // J. A write or a sync of this life failed, and there is no file of its log any more: somebody has taken them away meanwhile
            // (decision 73). A fresh log would forget dispatchers and routes that this life goes on using.
            RecoveryCase("J", .renew) { !$0.hasFiles && $0.isOwn },

            // K. As I, but the snapshot of the newest segment is damaged, so that it relies on the segment before it. To go on in it would
            // keep that segment for good, and on a full disk it may have to go. There is no good answer:
            // a start fails, a life goes on refusing, until there is room.
            RecoveryCase("K", .refuse) { $0.isUncertain && !$0.hasRoom && !$0.hasOwnStart },
        ]
    }
}

extension LogEvidence {
    /// Another process has written the log.
    fileprivate var isForeign: Bool { hasStart && !isOwn }

    /// Another process has written the log and stopped in order, and nothing but its last frame may be in doubt.
    fileprivate var isOrderly: Bool { isForeign && isWhole && isClosed && isCertain }

    /// There is a log, and it cannot be gone on with as it is.
    fileprivate var isUncertain: Bool { hasStart && !isOrderly }
}
