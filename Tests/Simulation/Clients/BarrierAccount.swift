import HeadgateData

/// What clients have said of one barrier of theirs, and what of it is beyond doubt (Behaviour B29).
final class BarrierAccount {
    let id: String
    private(set) var setting: Setting?
    private(set) weak var owner: SimulatedClient?
    /// Whether the setting is what the daemon has: nobody else may have changed it since.
    private var isKnown = true
    private var asks: [Ask] = []
    private var moment = 0

    /// What holds for the dispatchers in its scopes.
    struct Setting {
        /// Nil stands for all dispatchers.
        var scopes: [String]?
        var isClosed: Bool
        /// By dispatcher, where something else was said of it.
        var exceptions: [String: Bool] = [:]
        var isFlushable: Bool
        /// What becomes of it when its owner is gone.
        var leaving: String

        /// Whether it stays closed then, also across a restart of the daemon.
        var staysClosed: Bool { leaving == "close" || leaving == "keep" }

        func closes(_ dispatcher: String) -> Bool {
            scopes?.contains(dispatcher) != false && !isFlushable && exceptions[dispatcher] ?? isClosed
        }
    }

    /// A request about the barrier.
    final class Ask {
        let client: SimulatedClient
        fileprivate let begin: Int
        fileprivate var end: Int?
        /// Whether the barrier belonged beyond doubt to whoever asked, or to somebody else.
        fileprivate let isOwners: Bool
        fileprivate let isForeign: Bool

        fileprivate init(_ client: SimulatedClient, begin: Int, isOwners: Bool, isForeign: Bool) {
            (self.client, self.begin, self.isOwners, self.isForeign) = (client, begin, isOwners, isForeign)
        }
    }

    init(id: String) {
        self.id = id
    }

    /// Whether it holds a dispatcher beyond doubt. What is asked and not answered may have been done.
    func closes(_ dispatcher: String) -> Bool {
        guard isKnown, let setting, asks.allSatisfy({ $0.end != nil }) else { return false }
        return setting.closes(dispatcher) && (owner?.isTalking == true || setting.staysClosed)
    }

    /// Whether it stands beyond doubt, and belongs to nobody.
    var certainlyStands: Bool { isKnown && setting?.staysClosed == true && owner == nil }

    /// Counts what is said of it, as long as all of that is beyond doubt; nil when it is not.
    var certainty: Int? {
        isKnown && setting != nil && owner?.isTalking == true && asks.allSatisfy({ $0.end != nil }) ? moment : nil
    }

    /// What is wrong with how a list shows it, if anything is (Behaviour B10).
    func complaint(about shown: DataObject) -> String? {
        guard let setting else { return nil }
        if shown.get(key: "flushable") != setting.isFlushable { return "flushable or not" }
        guard let states = shown.get(key: "states", as: DataObject.self) else { return "without states" }
        let wrong = states.first { dispatcher, state in
            setting.scopes?.contains(dispatcher) == false
                || (setting.exceptions[dispatcher] ?? setting.isClosed) != (state == .string("closed"))
        }
        return wrong.map { "\($0.value) for \($0.key)" }
    }

    func asked(by client: SimulatedClient) -> Ask {
        moment += 1
        // What is asked before of a barrier that stays is answered once it is stored, perhaps behind the answer to this.
        let isCertain = isKnown && setting != nil && asks.allSatisfy { $0.end != nil }
        let ask = Ask(
            client, begin: moment, isOwners: isCertain && owner === client,
            isForeign: isCertain && owner !== client && owner?.isTalking == true)
        asks.append(ask)
        return ask
    }

    /// It was done.
    /// - Parameter change: what it did to the setting.
    /// - Returns: whether it may have been.
    func done(_ ask: Ask, isForced: Bool, _ change: (inout Setting?) -> Void) -> Bool {
        let isAnothers = owner !== ask.client && owner?.isTalking == true
        let isWrong = ask.isForeign && !isForced && isAlone(ask) && isAnothers
        end(ask)
        isKnown = isAlone(ask)
        change(&setting)
        owner = setting == nil ? nil : ask.client
        return !isWrong
    }

    /// It was refused.
    /// - Returns: whether it may have been.
    func refused(_ ask: Ask) -> Bool {
        let isWrong = ask.isOwners && isAlone(ask) && owner === ask.client
        end(ask)
        return !isWrong
    }

    /// It was done, but could not be written down for the next start.
    func unwritten(_ ask: Ask) {
        end(ask)
        isKnown = false
    }

    /// The daemon is gone, and all connections with it.
    /// - Parameter isKept: whether what was answered is beyond doubt what the next daemon finds (Behaviour B29).
    func lifeEnded(isKept: Bool) {
        isKnown = isKept && isKnown && setting?.staysClosed == true && asks.allSatisfy { $0.end != nil }
        (owner, asks) = (nil, [])
    }

    private func end(_ ask: Ask) {
        moment += 1
        ask.end = moment
    }

    /// Whether nobody else may have done anything to the barrier since this was asked.
    private func isAlone(_ ask: Ask) -> Bool {
        asks.allSatisfy { other in other.client === ask.client || other.end.map { $0 < ask.begin } ?? false }
    }
}
