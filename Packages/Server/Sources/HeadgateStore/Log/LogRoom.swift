import HeadgateCore

/// The rules of a full disk: which entries still fit, and which segments are not needed.
extension SegmentLog {
    /// The room that is reserved for changes while the next segment has no file; nil if it has one.
    private var reserve: LogReserve? { files.isReady ? nil : LogReserve(in: active.segment.file, options) }

    /// True if the next segment has no file, and the disk has no room for one.
    var isOutOfRoom: Bool { files.isOutOfRoom && !files.isReady }

    /// Returns true if the active segment has room for the encoded entry.
    func hasRoom(for entry: LogEntry) -> Bool {
        guard let reserve else { return active.hasRoom() }
        return active.hasRoom(beside: reserve.left(by: entry.claim))
            || active.hasRoom(beside: reserve.left(by: entry.claim, makesRoom: true)) && makesRoom(entry)
    }

    /// Returns true if the entry makes room for another file, or leaves the active segment as the only needed one.
    /// Segments that were not needed before do not count, because they are dropped already, and nor do retained events,
    /// which are dropped when there is no room (Behaviour R1).
    private func makesRoom(_ entry: LogEntry) -> Bool {
        guard case .changes(let changes) = entry else { return false }
        let now = state.withoutRetained
        var next = now
        next.apply(changes, in: active.segment.position(active.next))
        let unneeded = (before: unneeded(now, except: standIn), then: unneeded(next, except: standIn))
        let bytes = unneeded.then.map(\.file.size).reduce(0, +) - unneeded.before.map(\.file.size).reduce(0, +)
        return bytes >= options.leastSegmentSize || bytes > 0 && unneeded.then.count == next.segments.count
    }

    /// Returns the segments without needed content.
    /// - Parameter previous: the number of a segment to leave out.
    func unneeded(_ state: LogState, except previous: UInt64) -> [LogSegmentEntry] {
        let needed = state.needed
        return state.segments.filter { $0.number != previous && !needed.contains($0.number, index(of: $0)) }
    }

    /// The number of the segment before the active one, which a start may need if the active one's snapshot is damaged.
    /// It is 0 if there is no room. Then a start needs the active segment alone, which is synced before a file is
    /// freed.
    var standIn: UInt64 { isOutOfRoom ? 0 : state.segments.last?.number ?? 0 }
}
