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

    func write(to writer: inout LogWriter) {
        switch self {
        case .requested(let change): change.write(to: &writer)
        case .numberedDeadLetter(let stored):
            writer.put(Tag.numberedDeadLetter.rawValue)
            writer.put(stored.number)
            writer.put(stored.deadLetter)
        case .deadLettersGone(let deadLetters):
            writer.put(Tag.deadLettersGone.rawValue)
            writer.put(all: deadLetters) { $0.put($1) }
        case .forgotten(let segments):
            writer.put(Tag.forgotten.rawValue)
            writer.put(all: segments) { $0.put($1) }
        case .replaced(let segments, let copy, let deadLetters):
            writer.put(Tag.replaced.rawValue)
            writer.put(all: segments) { $0.put($1) }
            writer.put(copy)
            writer.put(all: deadLetters.sorted { $0.key < $1.key }) {
                $0.put($1.key)
                $0.put($1.value)
            }
        case .damaged(let position, let lost):
            writer.put(Tag.damaged.rawValue)
            writer.put(position)
            writer.put(TallyBlob.encode(lost))
        case .unretained(let through):
            writer.put(Tag.unretained.rawValue)
            writer.put(through)
        case .rewound(let number, let settled):
            writer.put(Tag.rewound.rawValue)
            writer.put(number)
            writer.put(settled)
        case .routes(let routes):
            writer.put(Tag.routes.rawValue)
            writer.put(routes)
        case .erased(let events):
            writer.put(Tag.erased.rawValue)
            writer.put(all: events) { $0.put($1) }
        case .erasureEnded: writer.put(Tag.erasureEnded.rawValue)
        }
    }

    init(_ reader: inout LogReader) throws(LogReader.Unsound) {
        guard let tag = Tag(rawValue: try reader.take()) else { throw LogReader.Unsound() }
        switch tag {
        case .numberedDeadLetter:
            self = .numberedDeadLetter(
                StoredDeadLetter(number: try reader.takeSequenceNumber(), deadLetter: try reader.takeDeadLetter()))
        case .deadLettersGone:
            self = .deadLettersGone(try reader.takeNumbers())
        case .forgotten:
            self = .forgotten(try reader.takeNumbers())
        case .replaced:
            let segments: [UInt64] = try reader.takeNumbers()
            let copy = try reader.takeSegmentEntry()
            let deadLetters = try reader.takeAll { (reader) throws(LogReader.Unsound) in
                (try reader.take(DeadLetterNumber.self), try reader.takeDeadLetterPosition())
            }
            self = .replaced(segments, by: copy, deadLetters: Dictionary(deadLetters) { $1 })
        case .damaged:
            let position = try reader.takePosition()
            guard let lost = TallyBlob.decode(try reader.takePiece()) else { throw LogReader.Unsound() }
            self = .damaged(position, lost: lost)
        case .unretained: self = .unretained(through: try reader.takeSequenceNumber())
        case .rewound: self = .rewound(try reader.take(), try reader.takeSettled())
        case .routes: self = .routes(try reader.takeRoutes())
        case .erased: self = .erased(try reader.takeNumbers())
        case .erasureEnded: self = .erasureEnded
        default:
            self = .requested(try StoreChange(tag, &reader))
        }
    }
}

extension StoreChange {
    fileprivate func write(to writer: inout LogWriter) {
        switch self {
        case .dispatcher(let dispatcher):
            writer.put(Tag.dispatcher.rawValue)
            writer.put(dispatcher)
        case .forgetDispatcher(let number):
            writer.put(Tag.forgetDispatcher.rawValue)
            writer.put(number)
        case .settled(let number, let settled):
            writer.put(Tag.settled.rawValue)
            writer.put(number)
            writer.put(settled)
        case .deadLetter(let deadLetter):
            writer.put(Tag.deadLetter.rawValue)
            writer.put(deadLetter)
        case .trim(let through):
            writer.put(Tag.trim.rawValue)
            writer.put(through)
        case .forgetRoutes(let routes):
            writer.put(Tag.forgetRoutes.rawValue)
            writer.put(all: routes) { $0.put($1) }
        case .forgetIDs(let through):
            writer.put(Tag.forgetIDs.rawValue)
            writer.put(through)
        case .keep(let name, let value):
            writer.put(Tag.keep.rawValue)
            writer.put(name)
            writer.put(all: value.map { [$0] } ?? []) { $0.put($1) }
        case .limitDeadLetters(let bounds):
            writer.put(Tag.limitDeadLetters.rawValue)
            writer.put(UInt64(max(0, bounds.count)))
            writer.put(UInt64(max(0, bounds.bytes)))
        case .retain(let retention):
            writer.put(Tag.retain.rawValue)
            writer.put(retention)
        }
    }

    fileprivate init(_ tag: Tag, _ reader: inout LogReader) throws(LogReader.Unsound) {
        switch tag {
        case .dispatcher: self = .dispatcher(try reader.takeDispatcher())
        case .forgetDispatcher: self = .forgetDispatcher(try reader.take())
        case .settled: self = .settled(try reader.take(), try reader.takeSettled())
        case .deadLetter: self = .deadLetter(try reader.takeDeadLetter())
        case .trim: self = .trim(through: try reader.takeSequenceNumber())
        case .forgetRoutes: self = .forgetRoutes(try reader.takeNumbers())
        case .forgetIDs: self = .forgetIDs(through: try reader.takeSequenceNumber())
        case .keep:
            let name = try reader.takeText()
            let values = try reader.takeAll { (reader) throws(LogReader.Unsound) in try reader.takeBytes() }
            self = .keep(name, values.first)
        case .limitDeadLetters:
            self = .limitDeadLetters(DeadLetterLimits(count: try reader.takeSize(), bytes: try reader.takeSize()))
        case .retain: self = .retain(try reader.takeRetention())
        case .numberedDeadLetter, .deadLettersGone, .forgotten, .replaced, .damaged, .unretained, .rewound, .routes,
            .erased,
            .erasureEnded:
            throw LogReader.Unsound()
        }
    }
}

extension LogWriter {
    mutating func put(_ retention: Retention?) {
        put(all: retention.map { [$0] } ?? []) { writer, retention in
            writer.put(retention.receivedAfter)
            writer.put(UInt64(max(0, retention.maxBytes)))
        }
    }

    mutating func put(_ deadLetter: DeadLetter) {
        put(deadLetter.dispatcher)
        put(deadLetter.sequenceNumber)
        put(deadLetter.reason.rawValue)
        put(optional: deadLetter.status.map(Int64.init))
        put(all: deadLetter.answer.map { [$0] } ?? []) { $0.put($1) }
        put(Int64(deadLetter.attempts))
        put(deadLetter.firstFailedAt.milliseconds)
        put(deadLetter.diedAt.milliseconds)
        put(deadLetter.record)
    }

    mutating func put(_ position: LogPosition) {
        put(position.segment)
        put(UInt64(position.offset))
    }
}

extension LogReader {
    mutating func takeRetention() throws(Unsound) -> Retention? {
        try takeAll { (reader) throws(Unsound) in
            let (receivedAfter, bytes) = (try reader.take(Int64.self), try reader.take(UInt64.self))
            return Retention(receivedAfter: receivedAfter, maxBytes: Int(clamping: bytes))
        }.first
    }

    mutating func takeDeadLetter() throws(Unsound) -> DeadLetter {
        let (dispatcher, number) = (try take(DispatcherNumber.self), try takeSequenceNumber())
        guard let reason = DeadLetter.Reason(rawValue: try takeText()) else { throw Unsound() }
        let status = try takeOptional().map { Int(truncatingIfNeeded: $0) }
        let answer = try takeAll { (reader) throws(Unsound) in try reader.takeText() }.first
        let attempts = Int(truncatingIfNeeded: try take(Int64.self))
        let (failed, died) = (try take(Int64.self), try take(Int64.self))
        return DeadLetter(
            dispatcher: dispatcher, sequenceNumber: number, reason: reason, status: status, answer: answer,
            attempts: attempts, firstFailedAt: Timestamp(milliseconds: failed),
            diedAt: Timestamp(milliseconds: died), record: try takeBytes())
    }

    mutating func takePosition() throws(Unsound) -> LogPosition {
        LogPosition(segment: try take(), offset: try takeSize())
    }
}
