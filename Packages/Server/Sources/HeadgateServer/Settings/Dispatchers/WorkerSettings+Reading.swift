import HeadgateCore

extension WorkerSettings {
    /// Reads what a dispatcher of kind `worker` has of its own. What its workers can take bounds the batches in flight,
    /// unless the settings do.
    init(_ reader: SettingsReader, common: inout DispatcherSettings) {
        reader.milliseconds("lease_ms", into: &lease)
        guard reader.item("in_flight") == nil else { return }
        common.inFlight = min(
            DispatcherSettings.mostInFlight, max(1, DispatcherSettings.mostInHand / common.dispatchLimit))
    }
}
