import HeadgateCore
import HeadgateData

/// The numbers of the changes in the log.
private enum Tag: UInt8 {
    case dispatcher = 1
    case forgetDispatcher
    case settled
    case deadLetter
    case trim
    case forgetRoutes
    case forgetIDs
    case keep
    case deadLettersGone
    case forgotten
    case replaced
    case damaged
    case numberedDeadLetter
    case limitDeadLetters
    case retain
    case unretained
    case rewound
    case routes
    case erased
    case erasureEnded
}

/// A change of the state: one that the service requested, or one of the log itself.
enum LogChange {
    case requested(StoreChange)
    /// A dead letter was stored under a number.
    case numberedDeadLetter(StoredDeadLetter)
    /// Dead letters were deleted.
    case deadLettersGone([DeadLetterNumber])
    /// Segments are dropped: nothing in them is needed.
    case forgotten([UInt64])
    /// A copy has replaced segments.
    case replaced([UInt64], by: LogSegmentEntry, deadLetters: [DeadLetterNumber: DeadLetterPosition])
    /// Events of a block are damaged, and do not count any more.
    case damaged(LogPosition, lost: RouteTallies)
    /// Settled events up to this one are no longer kept (Behaviour R1).
    case unretained(through: SequenceNumber)
    /// A dispatcher has settled these events, and no others (Behaviour R2).
    case rewound(DispatcherNumber, Settled)
    /// Routes have other dispatchers from now on, because earlier events now go to a new dispatcher too (Behaviour R4).
    case routes([RouteNumber: [DispatcherNumber]])
    /// Events are erased for all dispatchers (Behaviour E1). Their bytes may still be in the files.
    case erased([SequenceNumber])
    /// No file has bytes of erased events any more.
    case erasureEnded

    /// The dead letter that the change stores; nil if it stores none.
    var deadLetter: DeadLetter? {
        switch self {
        case .requested(.deadLetter(let deadLetter)): deadLetter
        case .numberedDeadLetter(let stored): stored.deadLetter
        default: nil
        }
    }
}

extension LogChange: LogCodable {
    func write(to writer: inout LogWriter) {
        switch self {
        case .requested(let change): change.write(to: &writer)
        case .numberedDeadLetter(let stored): writer.put(.numberedDeadLetter, stored.number, stored.deadLetter)
        case .deadLettersGone(let deadLetters): writer.put(.deadLettersGone, deadLetters)
        case .forgotten(let segments): writer.put(.forgotten, segments)
        case .replaced(let segments, let copy, let deadLetters): writer.put(.replaced, segments, copy, deadLetters)
        case .damaged(let position, let lost): writer.put(.damaged, position, lost)
        case .unretained(let through): writer.put(.unretained, through)
        case .rewound(let number, let settled): writer.put(.rewound, number, settled)
        case .routes(let routes): writer.put(.routes, routes)
        case .erased(let events): writer.put(.erased, events)
        case .erasureEnded: writer.put(.erasureEnded)
        }
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        guard let tag = Tag(rawValue: try reader.take()) else { throw LogReader.Unsound() }
        switch tag {
        case .numberedDeadLetter:
            let number = try reader.takeSequenceNumber()
            self = .numberedDeadLetter(StoredDeadLetter(number: number, deadLetter: try reader.take()))
        case .deadLettersGone: self = .deadLettersGone(try reader.take())
        case .forgotten: self = .forgotten(try reader.take())
        case .replaced: self = .replaced(try reader.take(), by: try reader.take(), deadLetters: try reader.take())
        case .damaged: self = .damaged(try reader.take(), lost: try reader.take())
        case .unretained: self = .unretained(through: try reader.takeSequenceNumber())
        case .rewound: self = .rewound(try reader.take(), try reader.take())
        case .routes: self = .routes(try reader.take())
        case .erased: self = .erased(try reader.take())
        case .erasureEnded: self = .erasureEnded
        default: self = .requested(try StoreChange(tag, &reader))
        }
    }
}

extension StoreChange {
    fileprivate func write(to writer: inout LogWriter) {
        switch self {
        case .dispatcher(let dispatcher): writer.put(.dispatcher, dispatcher)
        case .forgetDispatcher(let number): writer.put(.forgetDispatcher, number)
        case .settled(let number, let settled): writer.put(.settled, number, settled)
        case .deadLetter(let deadLetter): writer.put(.deadLetter, deadLetter)
        case .trim(let through): writer.put(.trim, through)
        case .forgetRoutes(let routes): writer.put(.forgetRoutes, routes)
        case .forgetIDs(let through): writer.put(.forgetIDs, through)
        case .keep(let name, let value): writer.put(.keep, name, value.map { [$0] } ?? [])
        case .limitDeadLetters(let bounds):
            writer.put(.limitDeadLetters, max(0, bounds.count), max(0, bounds.bytes))
        case .retain(let retention): writer.put(.retain, retention.map { [$0] } ?? [])
        }
    }

    fileprivate init(_ tag: Tag, _ reader: inout LogReader) throws(LogReader.Unsound) {
        switch tag {
        case .dispatcher: self = .dispatcher(try reader.take())
        case .forgetDispatcher: self = .forgetDispatcher(try reader.take())
        case .settled: self = .settled(try reader.take(), try reader.take())
        case .deadLetter: self = .deadLetter(try reader.take())
        case .trim: self = .trim(through: try reader.takeSequenceNumber())
        case .forgetRoutes: self = .forgetRoutes(try reader.take())
        case .forgetIDs: self = .forgetIDs(through: try reader.takeSequenceNumber())
        case .keep: self = .keep(try reader.take(), try reader.takeIfAny())
        case .limitDeadLetters:
            self = .limitDeadLetters(DeadLetterLimits(count: try reader.take(), bytes: try reader.take()))
        case .retain: self = .retain(try reader.takeIfAny())
        default: throw LogReader.Unsound()
        }
    }
}

extension LogWriter {
    /// Adds a change: its number, and its members.
    fileprivate mutating func put<each Member: LogCodable>(_ tag: Tag, _ members: repeat each Member) {
        put(tag.rawValue)
        repeat put(each members)
    }
}

extension Retention: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(receivedAfter)
        writer.put(UInt64(max(0, maxBytes)))
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let (receivedAfter, bytes): (Int64, UInt64) = (try reader.take(), try reader.take())
        self.init(receivedAfter: receivedAfter, maxBytes: Int(clamping: bytes))
    }
}

extension DeadLetter: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(dispatcher)
        writer.put(sequenceNumber)
        writer.put(reason.rawValue)
        writer.put(optional: status.map(Int64.init))
        writer.put(ifAny: answer)
        writer.put(Int64(attempts))
        writer.put(firstFailedAt.milliseconds)
        writer.put(diedAt.milliseconds)
        writer.put(record)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let (dispatcher, number) = (try reader.take(DispatcherNumber.self), try reader.takeSequenceNumber())
        guard let reason = Reason(rawValue: try reader.take()) else { throw LogReader.Unsound() }
        let status = try reader.takeOptional().map { Int(truncatingIfNeeded: $0) }
        let answer: String? = try reader.takeIfAny()
        let attempts = Int(truncatingIfNeeded: try reader.take(Int64.self))
        let (failed, died): (Int64, Int64) = (try reader.take(), try reader.take())
        self.init(
            dispatcher: dispatcher, sequenceNumber: number, reason: reason, status: status, answer: answer,
            attempts: attempts, firstFailedAt: Timestamp(milliseconds: failed),
            diedAt: Timestamp(milliseconds: died), record: try reader.takeBytes())
    }
}
