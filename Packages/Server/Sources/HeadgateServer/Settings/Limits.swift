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
    /// The most erasures of one user that are in progress or wait.
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

extension Limits: SettingsSection {
    static let table = SettingsTable<Limits>(
        greetingTable.keys + [.optional("rate", .section(EventRate.init(_:), \.object), \.rate)])

    /// The limits that `hello` returns, too.
    private static let greetingTable = SettingsTable<Limits>([
        // A smaller limit would also refuse the `config.set` call that raises the limit again.
        .key("max_line_bytes", .integer(1024...(1 << 30)), \.maxLineBytes),
        .key("max_depth", .integer(8...1024), \.maxDepth),
        .key("max_connections", .integer(1...1_000_000), \.maxConnections),
        .key("max_connections_per_uid", .integer(1...1_000_000), \.maxConnectionsPerUID),
        .key("max_unanswered", .integer(1...1_000_000), \.maxUnanswered),
        .key("max_unanswered_bytes", .integer(1...(1 << 40)), \.maxUnansweredBytes),
        .key("max_output_bytes", .integer(1...(1 << 40)), \.maxOutputBytes),
        .key("slow_reader_timeout_ms", .milliseconds(), \.slowReaderTimeout),
    ])

    /// The limits as `hello` returns them.
    var inGreeting: DataObject { Limits.greetingTable.object(self) }
}

/// The section `limits.rate`.
extension EventRate: SettingsSection {
    static let table = SettingsTable<EventRate>([
        .required("per_second", .integer(1...largest), \.perSecond), .key("burst", .integer(1...largest), \.burst),
    ])

    private static let largest = 1_000_000_000

    /// Returns nil if `per_second` is absent or wrong. Without `burst`, a user may send the events of a second at once.
    fileprivate init?(_ reader: SettingsReader) {
        self.init(perSecond: 0, burst: 0)
        read(reader)
        guard perSecond > 0 else { return nil }
        if burst == 0 { burst = perSecond }
    }
}

/// The section `store`, without the members that decide about the kind of store.
extension StoreLimits: SettingsSection {
    static let table = SettingsTable<StoreLimits>([
        .key("max_events", .integer(1...SettingsReader.most), \.maxEvents),
        .key("max_bytes", .integer(1...SettingsReader.most), \.maxBytes),
        .key("max_age_s", .seconds(), \.maxAge),
        .key("overflow", .word, \.overflow),
        .key("dedupe_window_s", .seconds(atLeast: 0), \.dedupeWindow),
        .key("dedupe_ids", .integer(0...mostDedupeIDs), \.dedupeIDs),
        .key("orphan_retention_s", .seconds(atLeast: 0), \.orphanRetention),
        .key("max_dead_letters", .integer(1...DeadLetterLimits.most), \.deadLetters.count),
        .key("max_dead_letter_bytes", .integer(1...DeadLetterLimits.mostBytes), \.deadLetters.bytes),
        .key("dead_letters_full", .word, \.deadLettersFull),
        .optional("retain", .section(RetentionLimits.init(_:), \.object), \.retain),
    ])

    /// The largest value of `dedupe_ids`. A larger number of IDs would take gigabytes of memory.
    private static let mostDedupeIDs = 100_000_000
}

/// The section `store.retain`.
extension RetentionLimits: SettingsSection {
    static let table = SettingsTable<RetentionLimits>([
        .optional("max_age_s", .seconds(), \.maxAge),
        .optional("max_bytes", .integer(leastBytes...SettingsReader.most), \.maxBytes),
    ])

    /// The smallest value of `max_bytes`. Retained events are dropped 256 KiB at a time, so a smaller limit would
    /// retain almost nothing.
    private static let leastBytes = 1 << 20

    fileprivate init(_ reader: SettingsReader) {
        self.init()
        read(reader)
        // An invalid member counts as present: `read` has reported its fault.
        let isEmpty = Self.table.keys.allSatisfy { reader.item($0.name) == nil }
        if isEmpty { reader.fault("must have `max_age_s`, `max_bytes` or both") }
    }
}

extension DeadLetterLimits {
    /// The largest value of `max_dead_letters`. The store keeps an index of dead letters in memory, 64 bytes for each.
    fileprivate static let most = 10_000_000
    fileprivate static let mostBytes = 1 << 39
}
