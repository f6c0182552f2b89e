/// The arrival times of a group's events, for measuring how long clients waited for acknowledgements (Behaviour O1).
/// Pure.
///
/// Events that arrive at almost the same time share an entry. An event thus costs a comparison, and a group has at most
/// some hundred entries.
struct ArrivalTimes {
    /// The last entry. It is mostly the only one, so that no array is needed.
    private var last: Entry?
    private var earlier: [Entry] = []

    private struct Entry {
        /// The arrival time of the first event.
        let moment: Instant
        var events: Int

        func acknowledged(at now: Instant, in histogram: inout Histogram) {
            histogram.record(max(0, now.nanoseconds - moment.nanoseconds), times: events)
        }
    }

    /// An event that arrives within this time after the first of an entry is counted in that entry, in nanoseconds.
    private static var grain: Int64 { 50_000 }

    /// Records the arrival of an event.
    @inline(__always)
    mutating func note(at now: Instant) {
        if let last, now.nanoseconds - last.moment.nanoseconds < ArrivalTimes.grain {
            self.last?.events += 1
        } else {
            if let last { earlier.append(last) }
            last = Entry(moment: now, events: 1)
        }
    }

    /// Records the waiting times of all events in a histogram.
    func acknowledged(at now: Instant, in histogram: inout Histogram) {
        for entry in earlier { entry.acknowledged(at: now, in: &histogram) }
        last?.acknowledged(at: now, in: &histogram)
    }
}
