import HeadgateData

/// The format in which a destination gets the events of a batch.
public struct BatchFormat: Sendable, Equatable {
    /// The bytes before the first event.
    public var prefix: [UInt8]
    /// The bytes between two events.
    public var separator: [UInt8]
    /// The bytes after the last event.
    public var suffix: [UInt8]
    /// The most events in a body, in addition to `dispatch_limit`.
    public var mostEvents: Int
    /// True if a body must not contain two events with the same id, because the destination reports results by id
    /// (Behaviour K3). Events of different namespaces may have the same id (Behaviour Q7).
    public var hasDistinctIds: Bool
    /// The CloudEvents form of each event; nil for Headgate's own form.
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

    /// `[event,event]`, with distinct ids.
    public static let distinctJSONArray = BatchFormat(
        prefix: Array("[".utf8), separator: Array(",".utf8), suffix: Array("]".utf8), hasDistinctIds: true)

    /// One event per line. Each line has a line end.
    public static let ndjson = BatchFormat(prefix: [], separator: Array("\n".utf8), suffix: Array("\n".utf8))

    /// `{"schema":…,"data":[event,event]}`
    public static func envelope(schema: String) -> BatchFormat {
        var prefix = JSONWriter()
        prefix.raw(#"{"schema":"#)
        prefix.string(schema)
        prefix.raw(#","data":["#)
        return BatchFormat(prefix: prefix.bytes, separator: Array(",".utf8), suffix: Array("]}".utf8))
    }

    /// `[event,event]`, with each event in the CloudEvents form.
    public static func cloudEvents(_ form: CloudEventForm) -> BatchFormat {
        BatchFormat(
            prefix: jsonArray.prefix, separator: jsonArray.separator, suffix: jsonArray.suffix, cloudEvents: form)
    }

    /// A single event in the CloudEvents form.
    public static func singleCloudEvent(_ form: CloudEventForm) -> BatchFormat {
        BatchFormat(prefix: [], separator: [], suffix: [], mostEvents: 1, cloudEvents: form)
    }

    /// Events without a separator. The sender sends each event by itself, from its range of the body.
    public static let separate = BatchFormat(prefix: [], separator: [], suffix: [])

    /// A single event.
    public static let single = BatchFormat(prefix: [], separator: [], suffix: [], mostEvents: 1)
}

/// Events that are sent to a destination together (Behaviour D1).
public struct Batch: Sendable, Equatable {
    /// An event of the batch. Events are in order of acceptance.
    public struct Event: Sendable, Equatable {
        private let source: IDSource
        public var sequenceNumber: SequenceNumber
        /// The range of the event's JSON in the body.
        public var range: Range<Int>
        /// The number of the event's charged attempts, including this one.
        public var attempt: Int

        /// The id, or its position in a chunk. Few destinations need the ids of all events, and creating strings takes
        /// time and memory.
        private enum IDSource: Sendable, Equatable {
            case text(String, key: EventKey?)
            case stored(Chunk, offset: Int, count: Int, isChanged: Bool)

            var text: String {
                switch self {
                case .text(let text, _): text
                case .stored(let chunk, let offset, let count, _):
                    String(decoding: chunk.bytes[offset..<offset + count], as: UTF8.self)
                }
            }

            var key: EventKey? {
                switch self {
                case .text(_, let key): key
                case .stored(let chunk, let offset, _, _): IDSource.event(in: chunk, offset)?.orderKey
                }
            }

            var head: EventHead? {
                guard case .stored(let chunk, let offset, _, isChanged: false) = self else { return nil }
                return IDSource.event(in: chunk, offset)?.header.head
            }

            /// Returns the event whose id is at an offset.
            private static func event(in chunk: Chunk, _ idOffset: Int) -> StoredEvent? {
                chunk.event(at: idOffset - RecordHeader.size - RecordHeader.idStart)
            }

            static func == (left: IDSource, right: IDSource) -> Bool { left.text == right.text }
        }

        /// Creates an event from texts.
        /// - Parameters:
        ///   - id: the id as a JSON string, with its quotes.
        ///   - sequenceNumber: the event's position in the queue.
        ///   - range: the range of the event's JSON in the body.
        ///   - attempt: the number of the event's charged attempts, including this one.
        ///   - key: the key as a JSON string, with its quotes; nil if there is none.
        public init(
            id: String, sequenceNumber: SequenceNumber, range: Range<Int>, attempt: Int = 1, key: String? = nil
        ) {
            source = .text(id, key: key.map { EventKey(json: Array($0.utf8)[...]) })
            (self.sequenceNumber, self.range, self.attempt) = (sequenceNumber, range, attempt)
        }

        /// Creates an event that refers to a stored event.
        /// - Parameter isChanged: true if a transformation changed the JSON.
        init(_ event: consuming StoredEvent, attempt: Int, range: Range<Int>, isChanged: Bool) {
            let (offset, count) = (event.idOffset, Int(event.header.idLength))
            (sequenceNumber, self.range, self.attempt) = (event.sequenceNumber, range, attempt)
            source = .stored((consume event).chunk, offset: offset, count: count, isChanged: isChanged)
        }

        /// The id as a JSON string, with its quotes, as it is written in the body.
        public var id: String { source.text }

        /// The stored event's key for ordering, whatever transformations did to it; nil if there is none (Behaviour
        /// Q2).
        public var key: EventKey? { source.key }

        /// The positions of members in the JSON; nil if a transformation changed it, so that it must be scanned.
        public var head: EventHead? { source.head }
    }

    /// The number of the batch, counted per dispatcher since the start.
    public var number: Int
    /// The exact bytes to send, in the destination's format.
    public var body: [UInt8]
    public var events: [Event]
    /// True if the batch is a single event over `byte_limit`, which is dead-lettered if the destination refuses it
    /// (Behaviour D2).
    public var isOversize = false
    /// The time at which the batch was handed to the sender.
    var sentAt = Instant(nanoseconds: 0)
    /// The output of the dispatcher's activation barrier (Behaviour A9). It may contain secrets (Behaviour X4).
    public var output = DataObject()
    /// The prefix of the deduplication keys: the store's id and the dispatcher's number.
    var origin = ""

    /// The largest number of attempts of an event in the batch, including this one (Behaviour D9).
    public var attempt: Int { events.lazy.map(\.attempt).max() ?? 1 }
}

extension Batch {
    /// The key by which a destination recognises the batch when it is sent again (Behaviour K1, K8). It consists of
    /// letters, digits and `-`.
    ///
    /// The key is the same for the same events at every attempt, and different for other events, another dispatcher or
    /// another store. Clients' ids are not part of the key, because another client may use the same ids.
    public var idempotencyKey: String {
        guard let first = events.first else { return "" }
        return "\(deduplicationKey(of: first))-\(String(sequenceDigest, radix: 16))"
    }

    /// Returns the key by which a destination recognises an event when it is sent again (Behaviour K8).
    func deduplicationKey(of event: Event) -> String {
        var key: [UInt8] = []
        appendDeduplicationKey(of: event, to: &key)
        return String(decoding: key, as: UTF8.self)
    }

    /// Appends the key by which a destination recognises an event when it is sent again (Behaviour K8).
    public func appendDeduplicationKey(of event: Event, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: origin.utf8)
        bytes.append(UInt8(ascii: "-"))
        bytes.append(contentsOf: String(event.sequenceNumber).utf8)
    }

    /// The 64-bit FNV-1a hash of the sequence numbers, computed on whole numbers instead of bytes.
    private var sequenceDigest: UInt64 {
        // Iterate over indices: each copied event would retain its chunk.
        events.indices.reduce(0xCBF2_9CE4_8422_2325) { digest, index in
            (digest ^ UInt64(bitPattern: events[index].sequenceNumber)) &* 0x100_0000_01B3
        }
    }

    var sequenceNumbers: SequenceSet {
        SequenceSet(events.lazy.map(\.sequenceNumber))
    }
}

extension Batch.Event {
    /// The decoded id, the same for all spellings of its JSON string.
    public var plainId: String { id.plainText }

    /// The bytes of the id, the same however its JSON string is spelled. Half a surrogate pair equals only itself.
    public var exactId: [UInt8] { id.exactText }
}

extension String {
    /// The text of a JSON string, the same for all spellings.
    var plainText: String {
        let spelled = withoutQuotes
        guard spelled.utf8.contains(UInt8(ascii: "\\")) else { return String(spelled) }
        var bytes: [UInt8] = []
        Array(spelled.utf8).withUnsafeBytes { JSONUnescaper($0).append(to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The UTF-8 bytes of the text that a JSON string stands for. Half a surrogate pair is encoded like any other code
    /// point.
    var exactText: [UInt8] {
        var bytes: [UInt8] = []
        Array(withoutQuotes.utf8).withUnsafeBytes { JSONUnescaper($0).append(to: &bytes, keepingHalves: true) }
        return bytes
    }

    /// The contents of a JSON string without its quotes, still escaped.
    var withoutQuotes: Substring {
        // Compare bytes: a combining mark after the quote would form one character with it.
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self[...] }
        return Substring(utf8.dropFirst().dropLast())
    }
}
