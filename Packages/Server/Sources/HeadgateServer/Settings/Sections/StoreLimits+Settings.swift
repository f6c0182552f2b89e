import HeadgateCore

extension StoreLimits {
    /// The limits that the settings ask for.
    init(_ settings: StoreSettings) {
        self.init()
        maxEvents = settings.maxEvents
        maxBytes = settings.maxBytes
        maxAge = settings.maxAge
        overflow = settings.overflow == .reject ? .reject : .dropOldest
        dedupeWindow = settings.dedupeWindow
        orphanRetention = settings.orphanRetention
    }
}
