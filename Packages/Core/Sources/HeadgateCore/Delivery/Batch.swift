import HeadgateData

/// How a destination wants events laid in one body.
public struct BatchFormat: Sendable, Equatable {
    /// What stands before the first event.
    public var prefix: [UInt8]
    /// What stands between two events.
    public var separator: [UInt8]
    /// What stands behind the last event.
    public var suffix: [UInt8]
    /// The most events that a body can hold, whatever `dispatch_limit` says.
    public var mostEvents: Int
    /// Whether a body holds no two events of one id: for a destination that answers for each by its id (Behaviour K3).
    /// In another namespace there may be another event of the same (Behaviour Q7).
    public var hasDistinctIds: Bool
    /// How each event is laid as a CloudEvent; nil: as dispatchers deliver it.
    public var cloudEvents: CloudEventForm?

    public init(
        prefix: [UInt8], separator: [UInt8], suffix: [UInt8], mostEvents: Int = .max, hasDistinctIds: Bool = false,
        cloudEvents: CloudEventForm? = nil
    ) {
        self.prefix = prefix
        self.separator = separator
        self.suffix = suffix
        self.mostEvents = mostEvents
        self.hasDistinctIds = hasDistinctIds
        self.cloudEvents = cloudEvents
    }

    /// `[event,event]`
    public static let jsonArray = BatchFormat(
        prefix: Array("[".utf8), separator: Array(",".utf8), suffix: Array("]".utf8))

    /// `[event,event]`, each of another id.
    public static let distinctJSONArray = BatchFormat(
        prefix: Array("[".utf8), separator: Array(",".utf8), suffix: Array("]".utf8), hasDistinctIds: true)

    /// One event a line, each line ended.
    public static let ndjson = BatchFormat(prefix: [], separator: Array("\n".utf8), suffix: Array("\n".utf8))

    /// `{"schema":…,"data":[event,event]}`
    public static func envelope(schema: String) -> BatchFormat {
        var prefix = JSONWriter()
        prefix.raw(#"{"schema":"#)
        prefix.string(schema)
        prefix.raw(#","data":["#)
        return BatchFormat(prefix: prefix.bytes, separator: Array(",".utf8), suffix: Array("]}".utf8))
    }

    /// `[event,event]`, each a CloudEvent.
    public static func cloudEvents(_ form: CloudEventForm) -> BatchFormat {
        BatchFormat(
            prefix: jsonArray.prefix, separator: jsonArray.separator, suffix: jsonArray.suffix, cloudEvents: form)
    }

    /// One CloudEvent and nothing around it.
    public static func singleCloudEvent(_ form: CloudEventForm) -> BatchFormat {
        BatchFormat(prefix: [], separator: [], suffix: [], mostEvents: 1, cloudEvents: form)
    }

    /// Events one behind the other: each is sent by itself, from its range of the body.
    public static let separate = BatchFormat(prefix: [], separator: [], suffix: [])

    /// One event and nothing around it.
    public static let single = BatchFormat(prefix: [], separator: [], suffix: [], mostEvents: 1)
}

/// Events on their way to a destination together (Behaviour D1).
public struct Batch: Sendable, Equatable {
    /// The events' part of the batch, in order of acceptance.
    public struct Event: Sendable, Equatable {
        private let spelling: Spelling
        public var sequenceNumber: SequenceNumber
        /// Where the event's JSON stands in the body.
        public var range: Range<Int>
        /// The attempts charged to it so far, and this one.
        public var attempt: Int

        /// An id, or where it lies: few destinations ask for those of all events, and a string of each takes time and memory.
        private enum Spelling: Sendable, Equatable {
            case text(String, key: EventKey?)
            case stored(Chunk, offset: Int, count: Int)

            var text: String {
                switch self {
                case .text(let text, _): text
                case .stored(let chunk, let offset, let count):
                    String(decoding: chunk.bytes[offset..<offset + count], as: UTF8.self)
                }
            }

            var key: EventKey? {
                switch self {
                case .text(_, let key): key
                case .stored(let chunk, let offset, _):
                    chunk.event(at: offset - RecordHeader.size - RecordHeader.idStart)?.orderKey
                }
            }

            static func == (left: Spelling, right: Spelling) -> Bool { left.text == right.text }
        }

        /// - Parameters:
        ///   - id: the id's JSON string, quotes and all.
        ///   - range: where the event's JSON stands in the body.
        ///   - attempt: the attempts charged to it so far, and this one.
        ///   - key: the key's JSON string, quotes and all; nil when it has none.
        public init(
            id: String, sequenceNumber: SequenceNumber, range: Range<Int>, attempt: Int = 1, key: String? = nil
        ) {
            spelling = .text(id, key: key.map { EventKey(json: Array($0.utf8)[...]) })
            (self.sequenceNumber, self.range, self.attempt) = (sequenceNumber, range, attempt)
        }

        /// A stored event.
        init(_ event: consuming StoredEvent, attempt: Int, range: Range<Int>) {
            let (offset, count) = (event.idOffset, Int(event.header.idLength))
            (sequenceNumber, self.range, self.attempt) = (event.sequenceNumber, range, attempt)
            spelling = .stored((consume event).chunk, offset: offset, count: count)
        }

        /// The id's JSON string, quotes and all, as it is spelled in the body.
        public var id: String { spelling.text }

        /// The key by which its order is kept (Behaviour Q2), or nil if it has none: the stored event's, whatever
        /// transformations made of it.
        public var key: EventKey? { spelling.key }
    }

    /// Counts the batches of a dispatcher since the start.
    public var number: Int
    /// Exactly what is to be sent, in the destination's format.
    public var body: [UInt8]
    public var events: [Event]
    /// Whether it is a single event over `byte_limit`, which is given up when it is not taken (Behaviour D2).
    public var isOversize = false
    /// When it was sent.
    var sentAt = Instant(nanoseconds: 0)
    /// What the dispatcher's activation barrier put out (Behaviour A9). Secrets (Behaviour X4).
    public var output = DataObject()
    /// The beginning of its deduplication keys: the store's id and the dispatcher's number.
    var origin = ""

    /// The most attempts that one of its events has had, this one included (Behaviour D9).
    public var attempt: Int { events.lazy.map(\.attempt).max() ?? 1 }
}

extension Batch {
    /// The key by which a destination recognises the batch when it is sent again (Behaviour K1, K8): letters, digits and `-`.
    /// It is the same for the same events at every attempt, and different for other events, another dispatcher or
    /// another store. Clients' ids are not part of it: another client may use the same ones.
    public var idempotencyKey: String {
        guard let first = events.first else { return "" }
        return "\(deduplicationKey(of: first))-\(String(sequenceDigest, radix: 16))"
    }

    /// The key by which a destination recognises one event when it is sent again (Behaviour K8).
    public func deduplicationKey(of event: Event) -> String {
        "\(origin)-\(event.sequenceNumber)"
    }

    /// FNV-1a of 64 bits, taken over whole numbers instead of bytes.
    private var sequenceDigest: UInt64 {
        // By their places: each event that is handed over counts as one more owner of its chunk.
        events.indices.reduce(0xCBF2_9CE4_8422_2325) { digest, place in
            (digest ^ UInt64(bitPattern: events[place].sequenceNumber)) &* 0x100_0000_01B3
        }
    }

    var sequenceNumbers: SequenceSet {
        SequenceSet(events.lazy.map(\.sequenceNumber))
    }
}

extension Batch.Event {
    /// The id itself, the same however its JSON string is spelled.
    public var plainId: String { id.plainText }
}

extension String {
    /// What a JSON string says, the same however it is spelled.
    var plainText: String {
        let spelled = withoutQuotes
        guard spelled.utf8.contains(UInt8(ascii: "\\")) else { return String(spelled) }
        var bytes: [UInt8] = []
        Array(spelled.utf8).withUnsafeBytes { JSONUnescaper($0).append(to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What stands between the quotes of a JSON string, as it is spelled.
    var withoutQuotes: Substring {
        // By bytes: a mark that follows the quote makes one character with it.
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self[...] }
        return Substring(utf8.dropFirst().dropLast())
    }
}
