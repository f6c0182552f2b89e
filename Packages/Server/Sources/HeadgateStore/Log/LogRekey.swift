import HeadgateCore

/// Rewrites the files of a log that are not encrypted with the present key, a step at a time: it encrypts files,
/// decrypts them, or changes their key (Behaviour C2).
///
/// The header of each file names the file's key, so a stop in between does no harm. The next start continues.
final class LogRekey {
    private let log: SegmentLog
    private var copy: LogCopy?
    /// The files of ids that were rewritten. The next snapshot makes them obsolete.
    private(set) var formerIDs: [LogFile] = []
    /// The number of recoveries of the log at the latest step.
    private var recoveries: Int

    init(_ log: SegmentLog) {
        (self.log, recoveries) = (log, log.counts.recovered)
    }

    /// Copies a block, rewrites a file of ids, or ends the work.
    /// - Returns: true if all files are encrypted with the present key.
    func step() throws(DiskFault) -> Bool {
        try log.repair()
        // A recovery has another list of files, in which the former files of ids may be needed again.
        if recoveries != log.counts.recovered { (formerIDs, recoveries) = ([], log.counts.recovered) }
        if let copy {
            if try !copy.step() { self.copy = nil }
            return false
        }
        if log.active.isOutdated {
            // After this, all earlier content is in sealed segments.
            try log.beginCleanSegment()
            return false
        }
        let plan = try LogCopy.plan(log) { (entry) throws(DiskFault) in
            try log.sealed[entry.number]?.isOutdated() ?? false
        }
        guard plan.isEmpty else {
            copy = try LogCopy(log, of: plan)
            return false
        }
        if let former = try log.renewIDs() {
            formerIDs.append(former)
            return false
        }
        try log.endRekey(formerIDs)
        return true
    }

    /// Drops the copy that is under way. The next step begins it again.
    func endCopy() {
        copy?.cancel()
        copy = nil
    }
}

/// The keys with which the files of a log are encrypted.
extension SegmentLog {
    /// Rewrites the next file of ids that is encrypted with another key.
    /// - Returns: the former file, which the next snapshot makes obsolete; nil if there is none.
    fileprivate func renewIDs() throws(DiskFault) -> LogFile? {
        for filed in state.ids.files {
            let segment = segment(filed.segment, filed.file)
            guard try segment.isOutdated() else { continue }
            // Damaged ids are not remembered, as at a start.
            let content = try segment.content(at: LogHeader.size)
            let number = takeNumber()
            let new = try content.map { (content) throws(DiskFault) in
                try LogIDs.write(content, through: filed.last, under: files.header(.ids, number), in: files)
            }
            replaceIDs(filed, by: new)
            return filed.file
        }
        return nil
    }

    /// Returns the bytes of the files under each key, by its number; 0 stands for plain files.
    ///
    /// Obsolete files count, because a power failure may undo the frames that made them obsolete. Files that could not
    /// be removed count too.
    /// - Parameter former: the files of ids that a rewriting has replaced so far.
    func bytesByKey(with former: [LogFile]) throws(DiskFault) -> [UInt16: Int] {
        var bytes: [UInt16: Int] = [:]
        let ids = state.ids.files.map { segment($0.segment, $0.file) }
        for segment in segments + ids { bytes[try segment.key() ?? 0, default: 0] += segment.file.size }
        for file in try sealed.obsolete + former + files.filesToRemove() {
            if let key = try files.key(of: file) { bytes[key, default: 0] += file.size }
        }
        return bytes
    }
}
