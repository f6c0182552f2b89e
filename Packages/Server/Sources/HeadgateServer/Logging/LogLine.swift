import HeadgateCore
import HeadgateData

/// The severity of a line of the log.
public enum LogLevel: String, CaseIterable, Sendable {
    case debug, info, notice, warning, error

    /// The level's number in syslog(3) and in the journal.
    var number: Int {
        switch self {
        case .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        }
    }
}

/// The kinds of lines that the daemon logs. `Docs/Operations.md` says how to react to each kind at warning and above,
/// and a test compares the two.
enum LogKind: String, CaseIterable, Sendable {
    case barrierFailed = "barrier_failed"
    case barrierRefused = "barrier_refused"
    case batchesCancelled = "batches_given_up"
    case bypassForbidden = "bypass_forbidden"
    case callsRefused = "calls_refused"
    case clientDisconnected = "client_disconnected"
    case collectorFailed = "collector_failed"
    case connectionFailed = "connection_failed"
    case dispatcherResumed = "dispatcher_resumed"
    case dispatcherRetried = "dispatcher_retried"
    case dispatcherRewound = "dispatcher_rewound"
    case dispatcherStarted = "dispatcher_started"
    case eventsDeadLettered = "events_died"
    case eventsDuplicate = "events_duplicate"
    case erasureFinished = "erasure_finished"
    case eventsErased = "events_erased"
    case eventsEvicted = "events_evicted"
    case eventsExpired = "events_expired"
    case eventsPurged = "events_purged"
    case eventsQuarantined = "events_quarantined"
    case eventsRefused = "events_refused"
    case eventsRejected = "events_rejected"
    case deadLettersDropped = "letters_dropped"
    case deadLettersFull = "letters_full"
    case deadLettersPurged = "letters_purged"
    case linesDropped = "lines_dropped"
    case operated
    case orphanQueueDropped = "queue_given_up"
    case remoteFailed = "remote_failed"
    case remoteRefused = "remote_refused"
    case settingsRead = "settings_read"
    case settingsRefused = "settings_refused"
    case settingsWarning = "settings_warning"
    case socketLost = "socket_lost"
    case socketRenewed = "socket_renewed"
    case startFailed = "start_failed"
    case storeBackedUp = "store_backed_up"
    case storeDamaged = "store_damaged"
    case storeFailed = "store_failed"
    case storeLeft = "store_left"
    case storeNoted = "store_noted"
    case storeRekeyed = "store_rekeyed"
    case storeRenewed = "store_renewed"
    case storeRepaired = "store_repaired"
    case storeUnwritten = "store_unwritten"
    case transformationFailed = "transformation_failed"
    case workerLost = "worker_lost"

    var level: LogLevel { shape.level }

    /// The line's text, in which `{name}` stands for a member.
    var pattern: String { shape.pattern }

    private var shape: (level: LogLevel, pattern: String) {
        switch self {
        case .barrierFailed: (.warning, "barrier {barrier}: {cause}")
        case .barrierRefused: (.warning, "{fault}")
        case .batchesCancelled:
            (.warning, "the daemon stopped with {batches} in flight; it sends their events again at the next start")
        case .bypassForbidden:
            (.warning, "board {board} of {client} asks to bypass the gateway, which the settings forbid")
        case .callsRefused:
            (.warning, "{client} (uid {uid}, pid {pid}) may not call {method}: its user lacks the right {group}")
        case .clientDisconnected:
            (.notice, "the daemon disconnected {client}: its user has lost the right to {rights}")
        case .collectorFailed: (.warning, "collector {collector}: {cause}")
        case .connectionFailed: (.warning, "could not accept a connection: {cause}")
        case .dispatcherRetried:
            (.notice, "dispatcher {dispatcher} retries now: an operator ended the backoff after {cause}")
        case .dispatcherRewound:
            (.notice, "user {uid} rewound dispatcher {dispatcher} to {seq}: {events} pending again")
        case .dispatcherStarted:
            (.notice, "the new dispatcher {dispatcher} starts at {seq}: {events} pending from before")
        case .dispatcherResumed: (.notice, "dispatcher {dispatcher} is resumed: {reason}")
        case .eventsDeadLettered:
            (.warning, "dispatcher {dispatcher} dead-lettered {events} ({reason}): {cause}; the first is {id}")
        case .eventsDuplicate:
            (
                .warning,
                "dispatcher {dispatcher}: the destination already had {events} before the first attempt; another sender may use the same ids"
            )
        case .erasureFinished:
            (
                .notice,
                "finished an erasure that began before the start: erased {events} and {letters} since; reason: {reason}"
            )
        case .eventsErased: (.notice, "user {uid} erased {events} and {letters}; reason: {reason}")
        case .eventsEvicted: (.warning, "dispatcher {dispatcher} evicted {events} to make room for newer ones")
        case .eventsExpired:
            (.warning, "dispatcher {dispatcher} dropped {events} past their time to live or `store.max_age_s`")
        case .eventsPurged: (.notice, "dispatcher {dispatcher}: an operator purged {events}")
        case .eventsQuarantined: (.error, "dispatcher {dispatcher} lost {events} to damage in the store")
        case .eventsRefused: (.warning, "{events} refused: {reason}")
        case .eventsRejected:
            (.warning, "dispatcher {dispatcher}: the destination accepted a batch but rejected {events}: {cause}")
        case .deadLettersDropped:
            (.warning, "dispatcher {dispatcher} lost the dead letters of {events} to make room for newer ones")
        case .deadLettersFull:
            (
                .warning,
                "dispatcher {dispatcher} is blocked: the store has {letters} and no room for another one; "
                    + "requeue or purge some, or raise store.max_dead_letters"
            )
        case .deadLettersPurged: (.notice, "an operator purged {letters}")
        case .linesDropped:
            (.warning, "the log lost {lines}: standard error was not read or not writable")
        case .operated:
            (.notice, "{method} {object} by {client} (uid {uid}, pid {pid}): {outcome}; reason: {reason}")
        case .orphanQueueDropped:
            (
                .warning,
                "the daemon dropped the backlog of the removed dispatcher {dispatcher}, with {events}: {reason}"
            )
        case .remoteFailed:
            (.warning, "the remote settings could not be fetched; the previous ones stay in force: {cause}")
        case .remoteRefused: (.warning, "the remote settings are refused; the previous ones stay in force: {faults}")
        case .settingsRead: (.notice, "the settings were read again; changed: {changed}")
        case .settingsRefused: (.error, "the settings are refused; the previous ones stay in force: {fault}")
        case .settingsWarning: (.warning, "{fault}")
        case .socketLost:
            (.error, "the socket {socket} was removed and cannot be recreated yet: {cause}")
        case .socketRenewed: (.warning, "the socket {socket} was removed; the daemon recreated it")
        case .startFailed: (.error, "{fault}")
        case .storeBackedUp: (.notice, "user {uid} made a backup of the store: {bytes} bytes")
        case .storeDamaged: (.error, "the store is damaged: {count} cannot be read and are quarantined")
        case .storeFailed: (.error, "the event store failed and refused {events}: {cause}")
        case .storeLeft:
            (
                .error,
                "the daemon stopped without an answer from the event store; all acknowledged events are on disk"
            )
        case .storeNoted: (.notice, "the store: {note}")
        case .storeRekeyed: (.notice, "user {uid} asked to rewrite the store under key {key}")
        case .storeRenewed:
            (
                .error,
                "the files of the event store in {directory} were removed or truncated, and {events} were lost; the daemon has created new files"
            )
        case .storeRepaired: (.error, "the event store was damaged: {damage}")
        case .storeUnwritten:
            (
                .error,
                "the store cannot record delivered and dropped events; after a restart they are sent again: {cause}"
            )
        case .transformationFailed: (.error, "transformations.{transformation}: {cause}")
        case .workerLost:
            (
                .warning,
                "dispatcher {dispatcher} lost {worker} with {events}: {cause}; the events go to another worker (attempt {attempt}; the first is {id})"
            )
        }
    }
}

/// A line of the log: its kind and its values.
struct LogLine: Equatable, Sendable {
    let kind: LogKind
    /// The values of the names in the pattern, and values that only a log in JSON shows.
    var members: DataObject
    /// The number of equal lines that this line replaces.
    var times = 1
    /// The time in which the equal lines came, or nil for a single line.
    var span: Duration?

    init(_ kind: LogKind, _ members: DataObject = [:]) {
        self.kind = kind
        self.members = members
    }

    /// The line as a text for people.
    var text: String {
        let filled = kind.pattern.split(separator: "{", omittingEmptySubsequences: false).enumerated().map {
            index, part in
            guard index > 0, let end = part.firstIndex(of: "}") else { return String(part) }
            return words(String(part[..<end])) + part[part.index(after: end)...]
        }
        guard times > 1, let span else { return filled.joined() }
        return "\(filled.joined()) (\(times) times in \(span.components.seconds) s)"
    }

    private func words(_ name: String) -> String {
        switch members[name] {
        case .string(let text)?: text
        case .number(let number)? where LogLine.nouns[name] != nil:
            number.text + " " + (LogLine.nouns[name].map { number.text == "1" ? $0.one : $0.many } ?? "")
        case .number(let number)?: number.text
        case .null?: "none"
        default: ""
        }
    }

    private static let events = "events"
    /// The nouns of the counted members.
    private static let nouns: [String: (one: String, many: String)] = [
        events: ("event", "events"), "count": ("event", "events"), "letters": ("dead letter", "dead letters"),
        "batches": ("batch", "batches"),
        "lines": ("line", "lines"),
    ]
    /// The members whose values do not matter when lines are compared.
    private static let changing: Set<String> = [
        events, "id", "letters", "count", "cause", "worker", "attempt",
    ]

    /// The members of a refused call that do not matter: a user could otherwise fill the log with lines that differ in
    /// the name of its client or in its process.
    private static let changingInRefusals: Set<String> = ["client", "pid"]

    /// A key that is the same for lines that differ only in numbers and causes.
    var burstKey: String {
        let changing =
            kind == .callsRefused ? LogLine.changing.union(LogLine.changingInRefusals) : LogLine.changing
        return members.reduce(into: kind.rawValue) { key, member in
            if !changing.contains(member.key) { key += "\u{1F}\(member.key)\u{1F}\(member.value.json)" }
        }
    }

    /// Adds an equal line: the counts of events and dead letters are added up, and all other values are replaced.
    mutating func merge(_ next: LogLine) {
        times += next.times
        for (name, value) in next.members {
            guard name == LogLine.events || name == "letters", let sum = members.get(key: name, as: Int.self),
                let more = value.get(as: Int.self)
            else {
                members[name] = value
                continue
            }
            members[name] = .number(DataNumber(sum + more))
        }
    }
}
