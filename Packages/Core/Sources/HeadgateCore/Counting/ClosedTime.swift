/// The total time for which a barrier has blocked a dispatcher (Behaviour O1). Pure.
public struct ClosedTime: Sendable, Equatable {
    private var counted = Duration.zero
    /// The time since when the barrier is closed; nil while it is open.
    private var since: Instant?

    /// Creates a value for a barrier that has always been open.
    init() {}

    /// True if the barrier is closed now.
    public var isClosed: Bool { since != nil }

    /// Records that the barrier closes or opens.
    mutating func set(closed: Bool, at now: Instant) {
        guard closed != isClosed else { return }
        if let since { counted += now - since }
        since = closed ? now : nil
    }

    /// Returns the total time up to now, with the present closed time.
    public func total(at now: Instant) -> Duration {
        since.map { counted + (now - $0) } ?? counted
    }
}
