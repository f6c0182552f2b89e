import HeadgateCore

/// Damaged blocks and dead letters (Behaviour Q8): they are put aside, and counted once.
extension SegmentLog {
    /// Records the damage of a block.
    ///
    /// The caller may have read the block long before. Losses that have been recorded since are not recorded again.
    /// - Parameter found: the sound events of the block.
    func quarantine(_ block: LogBlock, _ found: RouteTallies, of segment: LogSegment) {
        // A repair may have replaced the segment object by one whose index has all events of the summary again.
        guard (try? repair()) != nil,
            let segment = sealed[segment.number] ?? (segment === active.segment ? segment : nil),
            let held = segment.index.present(block)?.span.tallies
        else { return }
        let lost = held - found
        guard !lost.isEmpty else { return }
        losses.quarantined += lost.total.events
        let offset = block.range.lowerBound
        if let bytes = try? segment.read(block.range) { files.putAside(bytes, as: "\(segment.number)-\(offset)") }
        segment.index.lose(lost, at: offset)
        // The active segment's summary will mention the loss. If this change cannot be written, the next start finds the
        // damage again.
        guard segment !== active.segment else { return }
        _ = try? write([.changes([.damaged(segment.position(offset), lost: lost)])])
    }

    /// Deletes damaged dead letters.
    func quarantine(_ deadLetters: [DeadLetterIndex.Entry]) {
        guard !deadLetters.isEmpty else { return }
        losses.quarantined += deadLetters.count
        _ = try? write([.changes([.deadLettersGone(deadLetters.map(\.number))])])
    }

    /// Reads a dead letter; nil if it is damaged.
    func deadLetter(_ entry: DeadLetterIndex.Entry) throws(DiskFault) -> DeadLetter? {
        let frame = entry.position.frame
        let segment = frame.segment == active.segment.number ? active.segment : sealed[frame.segment]
        guard let segment, let content = try content(of: segment, at: frame.offset) else { return nil }
        let changes = try? content.withRawBytes { (bytes) throws(LogReader.Unsound) -> [LogChange] in
            try LogReader.value(in: bytes)
        }
        guard let changes, entry.position.index < changes.count else { return nil }
        return changes[entry.position.index].deadLetter
    }

    /// Reads the content of a frame; nil if it is damaged, or its file was removed.
    private func content(of segment: LogSegment, at offset: Int) throws(DiskFault) -> [UInt8]? {
        do throws(DiskFault) { return try segment.content(at: offset) } catch {
            guard error.isMissing, try hasLost(segment) else { throw error }
            return nil
        }
    }
}
