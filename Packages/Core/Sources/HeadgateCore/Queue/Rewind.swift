import HeadgateData

/// The event at which a dispatcher starts again (Behaviour R2).
public enum RewindTarget: Sendable, Equatable {
    /// An event's sequence number.
    case sequenceNumber(SequenceNumber)
    /// A time, by the wall clock.
    case time(Timestamp)
    /// The present time minus this duration.
    case back(Duration)
}

/// A request to a store: a dispatcher's events from a start event on become unsettled again (Behaviour R2).
public struct RewindRequest: Sendable {
    public let dispatcher: DispatcherNumber
    public let start: Start
    /// The routes that change with the rewind, with their new dispatchers. Empty if the routes of older events include
    /// the dispatcher already.
    public let routes: [RouteNumber: [DispatcherNumber]]
    /// True if the store only counts the events, and changes nothing.
    public let isDryRun: Bool
    /// Returns small values that the store keeps with the rewind, by their names. The parameter is the first event that
    /// is unsettled again.
    public let marks: @Sendable (SequenceNumber) -> [String: [UInt8]]

    /// The first event that becomes unsettled again.
    public enum Start: Sendable, Equatable {
        /// The event with a sequence number, or the first one after it.
        case sequenceNumber(SequenceNumber)
        /// The first event that was received at this time or later, on the age scale in milliseconds.
        case receipt(Int64)
    }

    public init(
        _ dispatcher: DispatcherNumber, to start: Start, routes: [RouteNumber: [DispatcherNumber]] = [:],
        isDryRun: Bool = false,
        marks: @escaping @Sendable (SequenceNumber) -> [String: [UInt8]] = { _ in [:] }
    ) {
        (self.dispatcher, self.start, self.routes) = (dispatcher, start, routes)
        (self.isDryRun, self.marks) = (isDryRun, marks)
    }
}

/// A store's answer to a rewind.
public enum RewindOutcome: Sendable, Equatable {
    /// The dispatcher is rewound, and that survives a crash of the process. After a dry run it would be rewound so.
    case rewound(RewoundQueue)
    /// Events from the start on are no longer kept. Nothing is changed.
    case notRetained(KeptEvent?)
}

/// The queue of a dispatcher after a rewind.
public struct RewoundQueue: Sendable, Equatable {
    /// The first event that may be unsettled again.
    public var first: SequenceNumber
    /// The events that are settled.
    public var settled: Settled
    /// The events that are not settled, by route.
    public var unsettled: RouteTallies
    /// False if some of the events may be missing, because the store kept only those that a dispatcher had not settled
    /// (Behaviour R5).
    public var isComplete: Bool
    /// The receipts of the stored events from the first one on, of all dispatchers, on the age scale in milliseconds; nil
    /// if there are none.
    public var receipts: ClosedRange<Int64>?

    public init(
        first: SequenceNumber, settled: Settled, unsettled: RouteTallies, isComplete: Bool,
        receipts: ClosedRange<Int64>?
    ) {
        (self.first, self.settled, self.unsettled) = (first, settled, unsettled)
        (self.isComplete, self.receipts) = (isComplete, receipts)
    }
}

/// The oldest event to which a dispatcher can be rewound.
public struct KeptEvent: Sendable, Equatable {
    public var sequenceNumber: SequenceNumber
    /// The receipt, on the age scale in milliseconds.
    public var receivedStamp: Int64

    public init(_ sequenceNumber: SequenceNumber, receivedStamp: Int64) {
        (self.sequenceNumber, self.receivedStamp) = (sequenceNumber, receivedStamp)
    }
}

/// The range of events to which a store can rewind a dispatcher (Behaviour R3, R5). Pure.
public struct RewindRange: Sendable, Equatable {
    /// All events after this one are kept; nil if nothing is retained.
    public var unretainedThrough: SequenceNumber?
    /// The oldest event that the store holds for a rewind; nil if it holds none.
    public var oldest: KeptEvent?

    public init(unretainedThrough: SequenceNumber?, oldest: KeptEvent?) {
        (self.unretainedThrough, self.oldest) = (unretainedThrough, oldest)
    }

    /// Returns true if a start can be rewound to.
    public func allows(_ start: RewindRequest.Start) -> Bool {
        // Nothing was ever dropped: everything is kept from the first event on.
        if unretainedThrough == 0 { return true }
        guard let oldest else { return false }
        switch start {
        case .sequenceNumber(let number):
            return number >= oldest.sequenceNumber || unretainedThrough.map { number > $0 } ?? false
        case .receipt(let stamp): return stamp >= oldest.receivedStamp
        }
    }

    /// Returns true if all events from a start on are kept.
    public func isComplete(from first: SequenceNumber) -> Bool { unretainedThrough.map { first > $0 } ?? false }
}

/// The replay of a dispatcher: the events that its last rewind made pending again (Behaviour R2). Pure.
///
/// Within a rewind, settlements only grow. The number of the rewind is part of the deduplication keys (Behaviour K8).
struct Replay: Equatable, Sendable {
    /// The number of the dispatcher's rewinds so far.
    var number: Int64
    /// The first event that is sent again.
    var first: SequenceNumber
    /// The last event that had been settled before.
    var last: SequenceNumber
    /// The time of the rewind, on the age scale in milliseconds. The ages of replayed events count from it.
    var stamp: Int64

    func contains(_ sequenceNumber: SequenceNumber) -> Bool { first <= sequenceNumber && sequenceNumber <= last }

    /// Returns true if events of the replay are left behind a position.
    func isLeft(behind position: SequenceNumber) -> Bool { position < last && first <= last }

    /// Returns the replay of another rewind, whose first event is not known yet.
    /// - Parameters:
    ///   - former: the replay of the rewind before; nil if there was none.
    ///   - settled: the dispatcher's settled events before this rewind.
    ///   - stamp: the present time on the age scale.
    static func next(after former: Replay?, of settled: Settled, at stamp: Int64) -> Replay {
        let last = settled.ranges.last?.upperBound ?? settled.position
        var next = Replay(number: (former?.number ?? 0) + 1, first: .max, last: last, stamp: stamp)
        if let former, former.isLeft(behind: settled.position) {
            (next.first, next.last) = (former.first, max(last, former.last))
        }
        return next
    }

    /// Returns a copy of the replay with its first event: `first`, or the lower first event of an earlier rewind whose
    /// events are still pending.
    func beginning(at first: SequenceNumber) -> Replay {
        Replay(number: number, first: min(self.first, first), last: last, stamp: stamp)
    }

    // MARK: Keeping

    /// Returns the name under which the store keeps the replay of a dispatcher.
    static func name(of dispatcher: DispatcherNumber) -> String { "rewind:\(dispatcher)" }

    init(number: Int64, first: SequenceNumber, last: SequenceNumber, stamp: Int64) {
        (self.number, self.first, self.last, self.stamp) = (number, first, last, stamp)
    }

    /// Reads a kept replay; nil if the bytes are not a replay.
    init?(kept bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let numbers = bytes.withUnsafeBytes { bytes in
            (0..<4).map { LittleEndian.load(bytes, at: 8 * $0, as: Int64.self) }
        }
        (number, first, last, stamp) = (numbers[0], numbers[1], numbers[2], numbers[3])
    }

    var kept: [UInt8] {
        [number, first, last, stamp].flatMap { LittleEndian.bytes($0) }
    }
}
