import HeadgateData

/// How much may go to a dispatcher.
public struct RateSettings: BarrierConfiguration, Equatable {
    /// Dispatches a second in the long run; nil: any number.
    public var perSecond: Double?
    /// How many may go at once after a pause.
    public var burst = 1
    /// Whether a flush goes through all the same.
    public var isFlushable = false

    /// Reads `{per_second, burst, flushable}`. Without a rate the barrier holds nothing; without a burst it is a
    /// second's worth.
    public init(reading reader: SettingsReader) {
        isFlushable = reader.bool("flushable") ?? isFlushable
        let burst = reader.integer("burst", in: 1...RateSettings.most)
        perSecond = reader.number("per_second", in: 0.00001...Double(RateSettings.most))
        if reader.item("burst") != nil, reader.item("per_second") == nil {
            reader.fault("per_second", "", "is required with burst")
        }
        self.burst = burst ?? perSecond.map { max(1, Int($0.rounded(.up))) } ?? 1
    }

    /// The time in which one token comes back; nil: at once.
    var interval: Duration? {
        // Inside the limits above this is neither nothing nor too long to say.
        perSecond.map { .seconds(1 / $0) }
    }

    private static let most = 1_000_000_000
}
