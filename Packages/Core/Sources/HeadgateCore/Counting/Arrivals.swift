/// When the events of a group came, to tell how long they waited for their acknowledgement (Behaviour O1). Pure.
///
/// Those that come at almost the same time share an entry, so that an event costs a comparison, and a group some hundred
/// entries at most.
struct Arrivals {
    private var entries: [Entry] = []

    private struct Entry {
        /// When the first of them came.
        let moment: Instant
        var events: Int
    }

    /// Events so close behind the first of an entry count as if they had come with it.
    private static let grain = Duration.microseconds(50).wholeNanoseconds

    /// An event comes.
    mutating func note(at now: Instant) {
        let last = entries.count - 1
        if last >= 0, now.nanoseconds - entries[last].moment.nanoseconds < Arrivals.grain {
            entries[last].events += 1
        } else {
            entries.append(Entry(moment: now, events: 1))
        }
    }

    /// All of them are acknowledged.
    func acknowledged(at now: Instant, in histogram: inout Histogram) {
        for entry in entries { histogram.record(now - entry.moment, times: entry.events) }
    }
}
