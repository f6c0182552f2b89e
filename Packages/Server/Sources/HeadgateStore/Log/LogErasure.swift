import HeadgateCore

/// Removes the bytes of erased events from all files of a log (Behaviour E1), a step at a time: everything that is
/// needed is copied into new files, and the old files are removed.
///
/// The log says already that the events are erased, so that nothing reads or counts them. After a crash the removal begins
/// again.
final class LogErasure {
    private let log: SegmentLog
    /// The segments before this one may have bytes of erased events.
    private let limit: UInt64
    private var copy: LogCopy?

    /// Begins a new segment, so that all earlier events are in sealed segments.
    init(_ log: SegmentLog) throws(DiskFault) {
        self.log = log
        try log.beginCleanSegment()
        limit = log.active.segment.number
    }

    /// Copies a block, or ends the removal.
    /// - Returns: true if no file has bytes of erased events any more.
    func step() throws(DiskFault) -> Bool {
        if let copy {
            if try !copy.step() { self.copy = nil }
            return false
        }
        let plan = try LogCopy.plan(log) { $0.number < limit }
        guard plan.isEmpty else {
            copy = try LogCopy(log, of: plan)
            return false
        }
        try log.endErasure()
        return true
    }

    func cancel() { copy?.cancel() }
}
