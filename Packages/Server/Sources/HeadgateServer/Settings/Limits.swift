import HeadgateCore
import HeadgateData

/// What the socket's clients are held to (Behaviour X2). `hello` tells them.
public struct Limits: Equatable, Sendable {
    /// The longest line that is read, in bytes.
    public var maxLineBytes = 1_048_576
    /// How deep a message's arrays and objects may be nested.
    public var maxDepth = 64
    /// Connections at once.
    public var maxConnections = 4096
    /// Connections of one user at once.
    public var maxConnectionsPerUID = 1024
    /// Requests of one connection that are not answered yet; reading stops there.
    public var maxUnanswered = 16_384
    /// Bytes of one connection's requests that are not answered yet; reading stops there.
    public var maxUnansweredBytes = 16_777_216
    /// Bytes of answers that one connection has not taken yet.
    public var maxOutputBytes = 4_194_304
    /// How long a connection may leave its answers lying before it is closed.
    public var slowReaderTimeout = Duration.milliseconds(30_000)

    public init() {}

    /// The limits under the names of the protocol.
    public var object: DataObject {
        [
            "max_line_bytes": .number(DataNumber(maxLineBytes)),
            "max_depth": .number(DataNumber(maxDepth)),
            "max_connections": .number(DataNumber(maxConnections)),
            "max_connections_per_uid": .number(DataNumber(maxConnectionsPerUID)),
            "max_unanswered": .number(DataNumber(maxUnanswered)),
            "max_unanswered_bytes": .number(DataNumber(maxUnansweredBytes)),
            "max_output_bytes": .number(DataNumber(maxOutputBytes)),
            "slow_reader_timeout_ms": .init(milliseconds: slowReaderTimeout),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        // With less than this not even `config.set` could undo it.
        reader.integer("max_line_bytes", in: 1024...(1 << 30), into: &maxLineBytes)
        reader.integer("max_depth", in: 8...1024, into: &maxDepth)
        reader.integer("max_connections", in: 1...1_000_000, into: &maxConnections)
        reader.integer("max_connections_per_uid", in: 1...1_000_000, into: &maxConnectionsPerUID)
        reader.integer("max_unanswered", in: 1...1_000_000, into: &maxUnanswered)
        reader.integer("max_unanswered_bytes", in: 1...(1 << 40), into: &maxUnansweredBytes)
        reader.integer("max_output_bytes", in: 1...(1 << 40), into: &maxOutputBytes)
        reader.milliseconds("slow_reader_timeout_ms", into: &slowReaderTimeout)
    }

    /// The limits to which transformed events are held, as if they had come in so.
    var ofEvents: EventLimits {
        var limits = EventLimits()
        (limits.mostDepth, limits.mostBytes, limits.longestKey) = (maxDepth, maxLineBytes, EventReader.longestWord)
        return limits
    }

    // MARK: Limits that no setting changes

    // They are far above what a client has use for, and there so that none can make the service grow or slow down
    // (Behaviour X2). More are `Watches.mostPerSession`, `EventReader.longestWord` and `RemoteBarriers.most`.

    /// The most messages in one batch. When the answers to a batch come to `max_output_bytes`, what is left of it is
    /// refused as well.
    static let mostInBatch = 1024
    /// The most flushes that one user may have under way. They go on when the connection has ended that asked for them.
    static let mostFlushesPerUser = 256
    /// The most events that a user may trace at once.
    static let mostTracesPerUser = 256
    /// The most bytes of what clients call themselves, of a version, and of a flush.
    static let longestName = 256
    /// The most bytes of a reason, which is shown wherever its barrier is.
    static let longestReason = 1024
    /// The most scopes of a barrier.
    static let mostScopes = 256
    /// The most dispatchers, and the most barriers, that settings may name: each of these has a state for each of those,
    /// and an answer tells them all.
    static let mostDispatchers = 256
    static let mostBarriers = 256
    /// The most load rules, the most gateway rules, the most transformations and the most names of interfaces in settings:
    /// some are held against all others of their kind when settings change, some against every event.
    static let mostRules = 1024
    /// The most headers of a dispatcher.
    static let mostHeaders = 256
    /// The most bytes of the programmatic layer, as of a settings file.
    static let mostProgrammaticBytes = 4 << 20
    /// The most warnings that `status` tells one by one.
    static let mostWarnings = 100
}

/// The section `store`.
extension StoreLimits {
    /// The limits under the names of the configuration.
    var object: DataObject {
        [
            "max_events": .number(DataNumber(maxEvents)),
            "max_bytes": .number(DataNumber(maxBytes)),
            "max_age_s": .init(seconds: maxAge),
            "overflow": .string(overflow.rawValue),
            "dedupe_window_s": .init(seconds: dedupeWindow),
            "dedupe_ids": .number(DataNumber(dedupeIDs)),
            "orphan_retention_s": .init(seconds: orphanRetention),
            "max_dead_letters": .number(DataNumber(deadLetters.count)),
            "max_dead_letter_bytes": .number(DataNumber(deadLetters.bytes)),
            "dead_letters_full": .string(deadLettersFull.rawValue),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.integer("max_events", in: 1...SettingsReader.most, into: &maxEvents)
        reader.integer("max_bytes", in: 1...SettingsReader.most, into: &maxBytes)
        reader.seconds("max_age_s", into: &maxAge)
        reader.word("overflow", of: Overflow.allCases, into: &overflow)
        reader.seconds("dedupe_window_s", atLeast: 0, into: &dedupeWindow)
        reader.integer("dedupe_ids", in: 0...StoreLimits.mostDedupeIDs, into: &dedupeIDs)
        reader.seconds("orphan_retention_s", atLeast: 0, into: &orphanRetention)
        reader.integer("max_dead_letters", in: 1...LetterBounds.most, into: &deadLetters.count)
        reader.integer("max_dead_letter_bytes", in: 1...LetterBounds.mostBytes, into: &deadLetters.bytes)
        reader.word("dead_letters_full", of: DeadLettersFull.allCases, into: &deadLettersFull)
    }

    /// More than this would take gigabytes of memory.
    private static let mostDedupeIDs = 100_000_000
}

extension LetterBounds {
    /// The store's index of dead letters is in memory, 64 bytes each.
    fileprivate static let most = 10_000_000
    fileprivate static let mostBytes = 1 << 39
}
