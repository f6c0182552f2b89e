/// A division of the events that may be in flight into batches, for a destination that takes events one by one
/// (``SenderCapacity/isWindow``). Pure.
///
/// A large window has at least four batches, so that others are in flight while the result of one is processed.
struct BatchWindow {
    private let events: Int
    private let bytes: Int
    /// The most batches in flight.
    let batches: Int
    /// The most events in a batch.
    private let mostEvents: Int
    /// The most bytes of a batch with several events.
    private let mostBytes: Int

    /// Creates a window; nil if it is small and not divided. In that case the settings limit the number of batches.
    /// - Parameter most: the most events in a batch at present.
    init?(_ settings: DispatcherSettings, most: Int) {
        events = most * settings.inFlight
        mostEvents = max(events / BatchWindow.parts, BatchWindow.wholeEvents)
        guard mostEvents < most else { return nil }
        batches = (events + mostEvents - 1) / mostEvents
        let product = settings.byteLimit.multipliedReportingOverflow(by: settings.inFlight)
        bytes = product.overflow ? .max : product.partialValue
        mostBytes = min(settings.byteLimit, max(bytes / BatchWindow.parts, BatchWindow.wholeBytes))
    }

    /// The room for the next batch beside the batches in flight.
    struct Room: Equatable {
        var events: Int
        /// The most bytes of several events.
        var bytes: Int
        /// The most bytes of a single event.
        var mostBytes: Int
    }

    /// Returns the room for the next batch, or nil if it has to wait for more room.
    /// - Parameters:
    ///   - inFlight: the number of events in flight.
    ///   - bytesInFlight: the size of the batches in flight.
    ///   - pending: the number of pending events.
    func room(besideEvents inFlight: Int, bytes bytesInFlight: Int, pending: Int) -> Room? {
        // With nothing in flight an event of any size may be sent.
        guard inFlight > 0 else { return Room(events: mostEvents, bytes: mostBytes, mostBytes: .max) }
        let (freeEvents, freeBytes) = (events - inFlight, bytes - bytesInFlight)
        guard freeEvents >= min(mostEvents, pending), freeBytes >= mostBytes else { return nil }
        return Room(events: min(mostEvents, freeEvents), bytes: mostBytes, mostBytes: freeBytes)
    }

    private static let parts = 4
    /// A batch of this many events, or bytes, is not divided.
    private static let wholeEvents = 100
    private static let wholeBytes = 40_000
}

extension BatchRoom {
    /// Returns the room that is left beside the batches in flight, or nil if no more may be in flight.
    func beside(
        _ inFlight: (batches: Int, events: Int, bytes: Int), _ settings: DispatcherSettings, _ now: DeliveryConditions
    ) -> BatchRoom? {
        // A barrier that observes the depth releases whole batches (Behaviour B22).
        let isDivided = now.capacity.isWindow && !now.isDepthWatched
        guard isDivided, let window = BatchWindow(settings, most: most) else {
            return inFlight.batches < min(settings.inFlight, now.capacity.batches) ? self : nil
        }
        guard inFlight.batches < min(window.batches, now.capacity.batches),
            let part = window.room(besideEvents: inFlight.events, bytes: inFlight.bytes, pending: pending)
        else { return nil }
        var room = self
        (room.most, room.bytes, room.mostBytes) = (part.events, part.bytes, part.mostBytes)
        return room
    }
}
