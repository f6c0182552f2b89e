/// The settings of how long a store keeps events that every dispatcher has settled (Behaviour R1).
public struct RetentionLimits: Sendable, Equatable {
    /// The longest time for which an event is kept; nil for no limit.
    public var maxAge: Duration?
    /// The most bytes of stored JSON that are kept; nil for no limit.
    public var maxBytes: Int?

    public init(maxAge: Duration? = nil, maxBytes: Int? = nil) {
        (self.maxAge, self.maxBytes) = (maxAge, maxBytes)
    }

    /// Returns the limits as a store applies them.
    /// - Parameter stamp: the present time on the age scale.
    func retention(at stamp: Int64) -> Retention {
        Retention(receivedAfter: maxAge.map { stamp - $0.wholeMilliseconds } ?? .min, maxBytes: maxBytes ?? .max)
    }
}

/// The events that a store keeps although every dispatcher has settled them (Behaviour R1).
public struct Retention: Sendable, Equatable {
    /// Events that were received at or before this time are dropped. On the age scale in milliseconds; `Int64.min`
    /// for no limit.
    public var receivedAfter: Int64
    /// The most bytes of events that are kept; `Int.max` for no limit.
    public var maxBytes: Int

    public init(receivedAfter: Int64 = .min, maxBytes: Int = .max) {
        (self.receivedAfter, self.maxBytes) = (receivedAfter, maxBytes)
    }
}

/// The retained events of a store, for reports (Behaviour R1).
public struct RetainedEvents: Sendable, Equatable {
    /// The number and size of events that every dispatcher has settled and that are kept.
    public var tally: Tally
    /// The receipt of the oldest retained event, on the age scale in milliseconds; nil if there is none.
    public var oldestStamp: Int64?

    public init(tally: Tally = .zero, oldestStamp: Int64? = nil) {
        (self.tally, self.oldestStamp) = (tally, oldestStamp)
    }

    public static let none = RetainedEvents()
}

/// The decision up to which event retained events are dropped (Behaviour R1). Pure.
///
/// A store describes its events as spans, the newest first. The oldest events go first, a whole span at a
/// time. When the disk is full, the older half of the spans is dropped.
public struct RetentionCut {
    /// Consecutive events of a store.
    public struct Span {
        /// The last event.
        public var last: SequenceNumber
        /// The receipt of the newest event, on the age scale in milliseconds.
        public var lastReceipt: Int64
        /// The size of the events that every dispatcher has settled.
        public var settledBytes: Int
        /// True if dropping the events makes room on the disk.
        public var isFreed: Bool

        public init(last: SequenceNumber, lastReceipt: Int64, settledBytes: Int, isFreed: Bool = true) {
            (self.last, self.lastReceipt) = (last, lastReceipt)
            (self.settledBytes, self.isFreed) = (settledBytes, isFreed)
        }
    }

    private let retention: Retention
    private var bytes = 0
    private var kept: [Span] = []
    /// The last event that must be dropped by the limits; nil if all may be kept.
    public private(set) var through: SequenceNumber?

    public init(_ retention: Retention) {
        self.retention = retention
    }

    /// Adds the next older span.
    /// - Returns: false if older spans make no difference.
    @discardableResult
    public mutating func add(_ span: Span) -> Bool {
        guard through == nil else { return false }
        bytes += span.settledBytes
        if span.lastReceipt <= retention.receivedAfter || bytes > retention.maxBytes {
            through = span.last
        } else if span.settledBytes > 0 {
            kept.append(span)
        }
        return through == nil
    }

    /// Returns true if a span can be added without dropping anything.
    public func keeps(_ span: Span) -> Bool {
        through == nil && span.lastReceipt > retention.receivedAfter && bytes + span.settledBytes <= retention.maxBytes
    }

    /// The event up to which events are dropped on a full disk: the oldest ones that make room, half of the bytes at
    /// least. Nil if there are none.
    public var throughOnFullDisk: SequenceNumber? {
        let freed = kept.filter(\.isFreed).reversed()
        let half = freed.reduce(0) { $0 + $1.settledBytes } / 2
        var sum = 0
        return freed.first { span in
            sum += span.settledBytes
            return sum >= half
        }?.last
    }
}
