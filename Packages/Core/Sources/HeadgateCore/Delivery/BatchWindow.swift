/// How much may be in flight to a destination that takes events one by one, and how it is divided into batches
/// (``SenderCapacity/isWindow``). Pure.
///
/// A large window is four batches at least: while one is reported, others are in flight.
struct BatchWindow {
    private let events: Int
    private let bytes: Int
    /// The most batches that may be in flight.
    let batches: Int
    /// The most events of a batch.
    private let mostEvents: Int
    /// The most bytes of a batch of several events.
    private let mostBytes: Int

    /// Returns nil if the window is not divided: then it is as many batches as settings say.
    /// - Parameter most: the most events that a batch may have now.
    init?(_ settings: DispatcherSettings, most: Int) {
        events = most * settings.inFlight
        mostEvents = max(events / BatchWindow.parts, BatchWindow.wholeEvents)
        guard mostEvents < most else { return nil }
        batches = (events + mostEvents - 1) / mostEvents
        let product = settings.byteLimit.multipliedReportingOverflow(by: settings.inFlight)
        bytes = product.overflow ? .max : product.partialValue
        mostBytes = min(settings.byteLimit, max(bytes / BatchWindow.parts, BatchWindow.wholeBytes))
    }

    /// What the next batch may have beside what is in flight.
    struct Room: Equatable {
        var events: Int
        /// The most bytes of several events.
        var bytes: Int
        /// The most bytes of one event.
        var mostBytes: Int
    }

    /// What the next batch may have; nil while it is to wait for more room.
    /// - Parameter pending: how many events wait.
    func room(besideEvents inFlight: Int, bytes bytesInFlight: Int, pending: Int) -> Room? {
        // Whatever its size, one may go alone.
        guard inFlight > 0 else { return Room(events: mostEvents, bytes: mostBytes, mostBytes: .max) }
        let (freeEvents, freeBytes) = (events - inFlight, bytes - bytesInFlight)
        guard freeEvents >= min(mostEvents, pending), freeBytes >= mostBytes else { return nil }
        return Room(events: min(mostEvents, freeEvents), bytes: mostBytes, mostBytes: freeBytes)
    }

    private static let parts = 4
    /// A batch of so many events, or bytes, is not divided.
    private static let wholeEvents = 100
    private static let wholeBytes = 40_000
}
