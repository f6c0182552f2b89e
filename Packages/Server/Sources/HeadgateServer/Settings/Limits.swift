import HeadgateCore
import HeadgateData

/// The limits that apply to the socket's clients (Behaviour X2). `hello` returns them.
public struct Limits: Equatable, Sendable {
    /// The most bytes of a line.
    public var maxLineBytes = 1_048_576
    /// The most levels of arrays and objects in a message.
    public var maxDepth = 64
    /// The most open connections.
    public var maxConnections = 4096
    /// The most open connections of one user.
    public var maxConnectionsPerUID = 1024
    /// The most unanswered requests of one connection. The daemon stops reading from the connection at this limit.
    public var maxUnanswered = 16_384
    /// The most bytes of one connection's unanswered requests. The daemon stops reading from the connection at this
    /// limit.
    public var maxUnansweredBytes = 16_777_216
    /// The most bytes of answers that one connection has not read.
    public var maxOutputBytes = 4_194_304
    /// The time after which a connection that does not read its answers is closed.
    public var slowReaderTimeout = Duration.milliseconds(30_000)
    /// The most events of one user, over all connections, or nil for no limit. Above it, the daemon stops reading from the
    /// user's connections (Behaviour Q4).
    public var rate: EventRate?

    public init() {}

    /// The limits under their names in the configuration.
    var settings: DataObject {
        var settings = object
        if let rate {
            settings["rate"] = [
                "per_second": .number(DataNumber(rate.perSecond)), "burst": .number(DataNumber(rate.burst)),
            ]
        }
        return settings
    }

    /// The limits under their names in the protocol.
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
        // With a smaller limit not even `config.set` could raise it again.
        reader.integer("max_line_bytes", in: 1024...(1 << 30), into: &maxLineBytes)
        reader.integer("max_depth", in: 8...1024, into: &maxDepth)
        reader.integer("max_connections", in: 1...1_000_000, into: &maxConnections)
        reader.integer("max_connections_per_uid", in: 1...1_000_000, into: &maxConnectionsPerUID)
        reader.integer("max_unanswered", in: 1...1_000_000, into: &maxUnanswered)
        reader.integer("max_unanswered_bytes", in: 1...(1 << 40), into: &maxUnansweredBytes)
        reader.integer("max_output_bytes", in: 1...(1 << 40), into: &maxOutputBytes)
        reader.milliseconds("slow_reader_timeout_ms", into: &slowReaderTimeout)
        reader.section("rate") { rate = EventRate($0) }
    }

    /// The limits of transformed events, which are those of tracked events.
    var trackedEvents: EventLimits {
        var limits = EventLimits()
        (limits.mostDepth, limits.mostBytes, limits.longestWord) = (maxDepth, maxLineBytes, Limits.longestWord)
        return limits
    }

    /// The connections that are reserved for root, the daemon's user, and users without a connection: 16, or a quarter
    /// of all if there are few (Behaviour X2).
    var reservedConnections: Int { min(16, maxConnections / 4) }

    // MARK: Limits that no setting changes

    // These limits are far above the needs of any client. They keep a client from making the service grow or slow down
    // (Behaviour X2). Others are `Watches.mostPerSession` and `RemoteBarriers.most`.

    /// The most messages of one batch. When the answers to a batch reach `max_output_bytes`, the rest of the batch is
    /// refused, too.
    static let mostInBatch = 1024
    /// The most flushes of one user in progress. A flush goes on after the connection that requested it has ended.
    static let mostFlushesPerUser = 256
    /// The most traces of one user in progress.
    static let mostTracesPerUser = 256
    /// The most erasures of one user that are under way or wait.
    static let mostErasuresPerUser = 16
    /// The most bytes of a client's name or version, of a flush's ID, and of a namespace.
    static let longestName = 256
    /// The most bytes of an event's name, ID or key between its quotes, with escapes.
    static let longestWord = 1024
    /// The most bytes of a barrier's reason, which is shown wherever the barrier is.
    static let longestReason = 1024
    /// The most scopes of a barrier.
    static let mostScopes = 256
    /// The most dispatchers, and the most barriers, in the settings. Each pair of them has a state, and one answer
    /// shows them all.
    static let mostDispatchers = 256
    static let mostBarriers = 256
    /// The most load rules, gateway rules, transformations and interface names in the settings. Some are compared with
    /// all others of their kind at each change of the settings, and some are applied to every event.
    static let mostRules = 1024
    /// The most headers of a dispatcher.
    static let mostHeaders = 256
    /// The most bytes of the programmatic layer. A settings file has the same limit.
    static let mostProgrammaticBytes = 4 << 20
    /// The most warnings that `status` lists.
    static let mostWarnings = 100
}

/// The section `limits.rate`.
extension EventRate {
    private static let largest = 1_000_000_000

    fileprivate init?(_ reader: SettingsReader) {
        reader.require("per_second")
        let perSecond = reader.integer("per_second", in: 1...EventRate.largest)
        let burst = reader.integer("burst", in: 1...EventRate.largest)
        guard let perSecond else { return nil }
        self.init(perSecond: perSecond, burst: burst ?? perSecond)
    }
}

/// The section `store`.
extension StoreLimits {
    /// The limits under their names in the configuration.
    var object: DataObject {
        var object: DataObject = [
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
        if let retain { object["retain"] = .object(retain.object) }
        return object
    }

    mutating func read(_ reader: SettingsReader) {
        reader.integer("max_events", in: 1...SettingsReader.most, into: &maxEvents)
        reader.integer("max_bytes", in: 1...SettingsReader.most, into: &maxBytes)
        reader.seconds("max_age_s", into: &maxAge)
        reader.word("overflow", of: Overflow.allCases, into: &overflow)
        reader.seconds("dedupe_window_s", atLeast: 0, into: &dedupeWindow)
        reader.integer("dedupe_ids", in: 0...StoreLimits.mostDedupeIDs, into: &dedupeIDs)
        reader.seconds("orphan_retention_s", atLeast: 0, into: &orphanRetention)
        reader.integer("max_dead_letters", in: 1...DeadLetterLimits.most, into: &deadLetters.count)
        reader.integer("max_dead_letter_bytes", in: 1...DeadLetterLimits.mostBytes, into: &deadLetters.bytes)
        reader.word("dead_letters_full", of: DeadLettersFull.allCases, into: &deadLettersFull)
        reader.section("retain") { retain = RetentionLimits($0) }
    }

    /// A larger number would take gigabytes of memory.
    private static let mostDedupeIDs = 100_000_000
}

/// The section `store.retain`.
extension RetentionLimits {
    /// Events are dropped 256 KiB at a time, so that a smaller limit would keep next to nothing.
    private static let leastBytes = 1 << 20

    fileprivate init(_ reader: SettingsReader) {
        self.init(
            maxAge: reader.seconds("max_age_s"),
            maxBytes: reader.integer("max_bytes", in: RetentionLimits.leastBytes...SettingsReader.most))
        if maxAge == nil, maxBytes == nil { reader.fault("must have `max_age_s`, `max_bytes` or both") }
    }

    fileprivate var object: DataObject {
        var object = DataObject()
        if let maxAge { object["max_age_s"] = .init(seconds: maxAge) }
        if let maxBytes { object["max_bytes"] = .number(DataNumber(maxBytes)) }
        return object
    }
}

extension DeadLetterLimits {
    /// The store keeps an index of dead letters in memory, 64 bytes for each.
    fileprivate static let most = 10_000_000
    fileprivate static let mostBytes = 1 << 39
}
