import HeadgateClient
import HeadgateData

/// Words for the result of `dispatcher.rewind`, with and without `dry_run`.
public struct RewindText {
    /// The sequence number of the first event that is pending again.
    public let first: Int
    /// The number of events that are pending again.
    public let events: Int
    private let isComplete: Bool
    private let received: (first: String, last: String)?

    /// Reads a result. Missing members count as zero.
    public init(_ result: DataObject) {
        first = result.get(key: "first_seq") ?? 0
        events = result.get(key: "events") ?? 0
        isComplete = result.get(key: "complete") ?? true
        if let first = result.get(key: "first_received_at", as: String.self),
            let last = result.get(key: "last_received_at", as: String.self)
        {
            received = (first, last)
        } else {
            received = nil
        }
    }

    /// Returns the sentence about a dispatcher that was rewound.
    public func done(_ id: String) -> String {
        "\(id) is rewound to \(first): \(Quantity.counted(events, "event")) pending again."
    }

    /// Returns the sentence about a dispatcher that would be rewound.
    public func preview(of id: String) -> String {
        let received = received.map { " They were received from \($0.first) to \($0.last)." }
        return "\(id) would be rewound to \(first): \(Quantity.counted(events, "event")) would be pending again."
            + (events > 0 ? received ?? "" : "")
    }

    /// The warning that events may be missing; nil if none are.
    public var warning: String? {
        isComplete ? nil : "The store retains no delivered events (`store.retain`), so some events may be missing."
    }
}
