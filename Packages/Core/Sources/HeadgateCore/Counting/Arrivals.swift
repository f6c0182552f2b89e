/// When the events of a group came, to tell how long they waited for their acknowledgement (Behaviour O1). Pure.
///
/// Those that come at almost the same time share an entry, so that an event costs a comparison, and a group some hundred
/// entries at most.
struct Arrivals {
    /// The last entry, which lies apart: mostly it is the only one, and takes no array.
    private var last: Entry?
    private var earlier: [Entry] = []

    private struct Entry {
        /// When the first of them came.
        let moment: Instant
        var events: Int

        func acknowledged(at now: Instant, in histogram: inout Histogram) {
            histogram.record(max(0, now.nanoseconds - moment.nanoseconds), times: events)
        }
    }

    /// Events so many nanoseconds behind the first of an entry, or less, count as if they had come with it.
    private static var grain: Int64 { 50_000 }

    /// An event comes.
    @inline(__always)
    mutating func note(at now: Instant) {
        if let last, now.nanoseconds - last.moment.nanoseconds < Arrivals.grain {
            self.last?.events += 1
        } else {
            if let last { earlier.append(last) }
            last = Entry(moment: now, events: 1)
        }
    }

    /// All of them are acknowledged.
    func acknowledged(at now: Instant, in histogram: inout Histogram) {
        for entry in earlier { entry.acknowledged(at: now, in: &histogram) }
        last?.acknowledged(at: now, in: &histogram)
    }
}
