import HeadgateCore
import HeadgateData

/// The settings of one dispatcher.
struct ConfiguredDispatcher: Sendable, Equatable {
    /// The settings that all kinds of dispatchers have.
    var common: DispatcherSettings
    /// The settings of the dispatcher's kind.
    var kind: KindSettings

    var id: String { common.id }
}

extension ConfiguredDispatcher {
    /// Reads an entry of `dispatchers`. Wrong values are added to the faults and replaced by their defaults.
    init(id: String, _ entry: SettingsReader, rules: RuleReader, kinds: DispatcherKinds) {
        if let problem = DispatcherID.problem(about: id) { entry.fault(problem) }
        common = DispatcherSettings(id: id)
        common.read(entry)
        common.loadRule = rules.rule("load_rule", in: entry)
        // If the kind is wrong, the settings are refused as a whole. The kind `file` is only a placeholder.
        kind =
            ConfiguredDispatcher.kind(of: entry, kinds)?.settings(entry, common: &common)
            ?? KindSettings(FileKind(), FileSettings(path: ""))
        common.limitBuffer(entry)
    }

    /// Returns the kind that an entry names. If there is none, adds a fault and returns nil.
    private static func kind(of entry: SettingsReader, _ kinds: DispatcherKinds) -> (any DispatcherKind)? {
        let given = entry.item("kind")
        if let name = given.flatMap(String.init(dataItem:)), let kind = kinds.kind(named: name) { return kind }
        let allowed = SettingsReader.mustBeOne(of: kinds.names)
        entry.acceptEveryKey()
        entry.fault("kind", "", given == nil ? "is required, and \(allowed)" : allowed)
        return nil
    }
}

extension DispatcherKind {
    /// Makes the sender of a dispatcher of this kind.
    func makeSender(of dispatcher: ConfiguredDispatcher, in context: SenderContext) throws -> any Sender {
        guard let settings = dispatcher.kind.settings as? Settings else {
            preconditionFailure("settings are read by the kind that makes the sender")
        }
        return try makeSender(of: dispatcher.id, settings, in: context)
    }
}

extension DispatcherSettings {
    /// Reads the settings that all kinds have, except those about HTTP answers.
    fileprivate mutating func read(_ reader: SettingsReader) {
        reader.integer("dispatch_limit", in: 1...DispatcherSettings.mostBuffered, into: &dispatchLimit)
        reader.integer("byte_limit", in: 1...(1 << 30), into: &byteLimit)
        reader.integer("in_flight", in: 1...DispatcherSettings.mostInFlight, into: &inFlight)
        reader.integer("max_attempts", in: 1...SettingsReader.most, into: &maxAttempts)
        reader.seconds("max_retry_age_s", into: &maxRetryAge)
        reader.section("backoff") { backoff in
            backoff.milliseconds("base_ms", into: &backoffBase)
            backoff.milliseconds("cap_ms", into: &backoffCap)
        }
        reader.bool("retry_failed_requests", into: &retryFailedRequests)
        reader.annotateQueued("annotate_queued", into: &annotateQueued)
        formerly = reader.dispatcherID("formerly", of: id)
        reader.start("start", into: &start)
        reader.section("activation_barrier") { activationBarrier = DispatcherActivation($0) }
    }

    /// Adds a fault if `dispatch_limit` times `in_flight` is too large. These events are in memory, together with about
    /// as many buffered events (Behaviour Q6).
    fileprivate func limitBuffer(_ reader: SettingsReader) {
        guard dispatchLimit * inFlight > DispatcherSettings.mostBuffered else { return }
        let most = DispatcherSettings.mostBuffered
        reader.fault("in_flight", "", "times dispatch_limit must be no more than \(most)")
    }
}

extension SettingsReader {
    private static let mostWords = 64

    /// Reads true, false, or a list of reason words (Behaviour D13).
    fileprivate func annotateQueued(_ key: String, into target: inout AnnotateQueued) {
        guard let item = item(key) else { return }
        if let isOn = item.get(as: Bool.self) {
            target = isOn ? .all : .none
        } else if case .array(let items) = item, items.count <= SettingsReader.mostWords {
            let words = items.compactMap { item in
                String(dataItem: item).flatMap { (1...BarrierName.longest).contains($0.utf8.count) ? $0 : nil }
            }
            guard words.count == items.count else { return fault(key, "", SettingsReader.mustBeAnnotation) }
            target = words.isEmpty ? .none : .words(Set(words))
        } else {
            fault(key, "", SettingsReader.mustBeAnnotation)
        }
    }

    private static let mustBeAnnotation = "must be true, false, or a list of no more than \(mostWords) reason words"

    /// Reads the start of a new dispatcher (Behaviour R4).
    fileprivate func start(_ key: String, into start: inout DispatcherStart) {
        guard let item = item(key) else { return }
        switch String(dataItem: item) {
        case "newest": start = .newest
        case "oldest": start = .oldest
        case let text?:
            guard let target = RewindTarget(text: text) else { return fault(key, "", SettingsReader.mustBeStart) }
            start = .at(target)
        case nil:
            guard let number = Int(dataItem: item), number >= 1 else {
                return fault(key, "", SettingsReader.mustBeStart)
            }
            start = .at(.sequenceNumber(SequenceNumber(number)))
        }
    }

    private static let mustBeStart =
        "must be \"newest\", \"oldest\", a sequence number from 1 on, a time (RFC 3339), or a duration back like \"-2h\""

    /// Reads the ID of a dispatcher that is no longer configured. Only one dispatcher may name it.
    fileprivate func dispatcherID(_ key: String, of id: String) -> String? {
        guard let former = string(key) else { return nil }
        if let problem = DispatcherID.problem(about: former) {
            fault(key, "", problem)
        } else if former == id {
            fault(key, "", "must be another dispatcher's id")
        } else {
            claim(key, "former queue", former, for: "dispatcher `\(id)`")
        }
        return former
    }
}

extension DispatcherActivation {
    fileprivate init(_ reader: SettingsReader) {
        reader.require("board")
        self.init(board: reader.boardName("board") ?? "", sticky: reader.milliseconds("sticky_ms"))
    }
}
