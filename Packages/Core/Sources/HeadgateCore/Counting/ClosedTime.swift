/// For how long a barrier has held a dispatcher's way closed, in all (Behaviour O1). Pure.
public struct ClosedTime: Sendable, Equatable {
    private var counted = Duration.zero
    /// Since when it is closed; nil while it is open.
    private var since: Instant?

    /// The way has been open all the time.
    init() {}

    /// Whether it is closed now.
    public var isClosed: Bool { since != nil }

    /// It is closed from now on, or open.
    mutating func set(closed: Bool, at now: Instant) {
        guard closed != isClosed else { return }
        if let since { counted += now - since }
        since = closed ? now : nil
    }

    /// All of the time; that under way is counted as far as it has come.
    public func total(at now: Instant) -> Duration {
        since.map { counted + (now - $0) } ?? counted
    }
}
