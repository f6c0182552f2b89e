/// How fast a counter grows: by what it grew between the last two looks at it.
struct RateGauge {
    private var last: (count: Int, moment: Int64)?
    /// Nil until it has been looked at twice.
    private(set) var perSecond: Double?

    /// The counter stands at `count` at a moment in nanoseconds. One that went back has begun anew.
    mutating func look(_ count: Int, at moment: Int64) {
        defer { last = (count, moment) }
        guard let last, count >= last.count, moment > last.moment else {
            perSecond = nil
            return
        }
        perSecond = (Double(count) - Double(last.count)) / (Double(moment - last.moment) / 1_000_000_000)
    }
}
