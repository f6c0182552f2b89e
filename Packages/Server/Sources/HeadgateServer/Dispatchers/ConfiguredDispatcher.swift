import HeadgateCore
import HeadgateData

/// A dispatcher as the configuration describes it.
struct ConfiguredDispatcher: Sendable, Equatable {
    /// What all kinds have.
    var common: DispatcherSettings
    /// What its kind has.
    var kind: KindSettings

    var id: String { common.id }
}

extension ConfiguredDispatcher {
    /// Reads an entry of `dispatchers`; what is wrong with it is noted and stands at its default.
    init(id: String, _ entry: SettingsReader, rules: RuleReader, kinds: DispatcherKinds) {
        if let complaint = DispatcherID.complaint(about: id) { entry.fault(complaint) }
        common = DispatcherSettings(id: id)
        common.read(entry)
        common.loadRule = rules.rule("load_rule", in: entry)
        // A kind that is refused is held against nothing; which of those that exist stands in for it does not matter.
        kind =
            ConfiguredDispatcher.kind(of: entry, kinds)?.settings(entry, common: &common)
            ?? KindSettings(FileKind(), FileSettings(path: ""))
        common.boundHand(entry)
    }

    /// The kind that an entry names; nil, and a fault, when there is none of that name.
    private static func kind(of entry: SettingsReader, _ kinds: DispatcherKinds) -> (any DispatcherKind)? {
        let given = entry.item("kind")
        if let name = given.flatMap(String.init(dataItem:)), let kind = kinds.kind(named: name) { return kind }
        let allowed = SettingsReader.mustBeOne(of: kinds.names)
        entry.acceptEveryKey()
        entry.fault("kind", "", given == nil ? "is required, and \(allowed)" : allowed)
        return nil
    }
}

extension DispatcherSettings {
    /// Reads what all kinds can be told, but for what is about HTTP's answers.
    fileprivate mutating func read(_ reader: SettingsReader) {
        reader.integer("dispatch_limit", in: 1...DispatcherSettings.mostInHand, into: &dispatchLimit)
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
        reader.section("activation_barrier") { activationBarrier = DispatcherActivation($0) }
    }

    /// What is on its way is in memory, and about as much waits there behind it (Behaviour Q6).
    fileprivate func boundHand(_ reader: SettingsReader) {
        guard dispatchLimit * inFlight > DispatcherSettings.mostInHand else { return }
        let most = DispatcherSettings.mostInHand
        reader.fault("in_flight", "", "times dispatch_limit must be no more than \(most)")
    }
}

extension SettingsReader {
    private static let mostWords = 64

    /// True, false, or a list of reason words (Behaviour D13).
    fileprivate func annotateQueued(_ key: String, into place: inout AnnotateQueued) {
        guard let item = item(key) else { return }
        if let isOn = item.get(as: Bool.self) {
            place = isOn ? .all : .none
        } else if case .array(let items) = item, items.count <= SettingsReader.mostWords {
            let words = items.compactMap { item in
                String(dataItem: item).flatMap { (1...BarrierName.longest).contains($0.utf8.count) ? $0 : nil }
            }
            guard words.count == items.count else { return fault(key, "", SettingsReader.mustBeAnnotation) }
            place = words.isEmpty ? .none : .words(Set(words))
        } else {
            fault(key, "", SettingsReader.mustBeAnnotation)
        }
    }

    private static let mustBeAnnotation = "must be true, false, or a list of no more than \(mostWords) reason words"

    /// The id of a dispatcher that is configured no more, which only one may name.
    fileprivate func dispatcherID(_ key: String, of id: String) -> String? {
        guard let former = string(key) else { return nil }
        if let complaint = DispatcherID.complaint(about: former) {
            fault(key, "", complaint)
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

/// What may name a dispatcher.
enum DispatcherID {
    /// The most characters that a name may have.
    static let longest = 64

    /// What is wrong with a name; nil when it will do.
    static func complaint(about id: String) -> String? {
        if id == BarrierScope.all.rawValue { return "`all` is the scope of all dispatchers and names none" }
        if (1...longest).contains(id.utf8.count), id.utf8.allSatisfy(isAllowed) { return nil }
        return "a dispatcher's name has 1 to \(longest) letters (a-z), digits, `_`, `-` or `.`"
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
