import HeadgateData

/// The model of one client barrier: the settings that clients sent, and whether the daemon certainly has them
/// (Behaviour B29).
final class BarrierAccount {
    let id: String
    private(set) var setting: Setting?
    private(set) weak var owner: SimulatedClient?
    /// True if the daemon certainly has `setting`: no other client may have changed it since.
    private var isKnown = true
    private var asks: [Ask] = []
    private var moment = 0

    /// The settings of the barrier.
    struct Setting {
        /// The dispatchers in scope, or nil for all.
        var scopes: [String]?
        var isClosed: Bool
        /// Exceptions from `isClosed`, by dispatcher.
        var exceptions: [String: Bool] = [:]
        var isFlushable: Bool
        /// The behaviour when the owner disconnects.
        var leaving: String

        /// True if the barrier stays closed without its owner, even across a restart of the daemon.
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
        /// The change that the request made; nil before its answer, and if it was refused.
        fileprivate var change: ((inout Setting?) -> Void)?
        /// True if the barrier certainly belonged to the requesting client; `isForeign` is true if it certainly
        /// belonged to another.
        fileprivate let isOwners: Bool
        fileprivate let isForeign: Bool

        fileprivate init(_ client: SimulatedClient, begin: Int, isOwners: Bool, isForeign: Bool) {
            (self.client, self.begin, self.isOwners, self.isForeign) = (client, begin, isOwners, isForeign)
        }
    }

    init(id: String) {
        self.id = id
    }

    /// Returns true if the barrier certainly blocks a dispatcher. An unanswered request may already have been carried
    /// out.
    func closes(_ dispatcher: String) -> Bool {
        guard isKnown, let setting, asks.allSatisfy({ $0.end != nil }) else { return false }
        return setting.closes(dispatcher) && (owner?.isTalking == true || setting.staysClosed)
    }

    /// True if the barrier certainly exists, without an owner.
    var certainlyStands: Bool { isKnown && setting?.staysClosed == true && owner == nil }

    /// The number of the last change, or nil if the state of the barrier is uncertain.
    var certainty: Int? {
        isKnown && setting != nil && owner?.isTalking == true && asks.allSatisfy({ $0.end != nil }) ? moment : nil
    }

    /// Returns the difference between a listed barrier and the model, or nil if they agree (Behaviour B10).
    func problem(about shown: DataObject) -> String? {
        guard let setting else { return nil }
        if shown.get(key: "flushable") != setting.isFlushable { return "flushable or not" }
        guard let states = shown.get(key: "states", as: DataObject.self) else { return "without states" }
        let wrong = states.first { dispatcher, state in
            setting.scopes?.contains(dispatcher) == false
                || (setting.exceptions[dispatcher] ?? setting.isClosed) != (state == .string("closed"))
        }
        return wrong.map { "\($0.value) for \($0.key)" }
    }

    func requested(by client: SimulatedClient) -> Ask {
        moment += 1
        // Earlier requests about a kept barrier are answered when they are stored, possibly after this request.
        let isCertain = isKnown && setting != nil && asks.allSatisfy { $0.end != nil }
        let ask = Ask(
            client, begin: moment, isOwners: isCertain && owner === client,
            isForeign: isCertain && owner !== client && owner?.isTalking == true)
        asks.append(ask)
        return ask
    }

    /// Records that a request was carried out.
    /// - Parameter change: The change that the request made to the settings.
    /// - Returns: False if the request should have been refused.
    func done(_ ask: Ask, isForced: Bool, _ change: @escaping (inout Setting?) -> Void) -> Bool {
        let isAnothers = owner !== ask.client && owner?.isTalking == true
        let isWrong = ask.isForeign && !isForced && isAlone(ask) && isAnothers
        carriedOut(ask, change)
        isKnown = isAlone(ask)
        return !isWrong
    }

    /// Records that a request was refused.
    /// - Returns: False if the request should have been carried out.
    func refused(_ ask: Ask) -> Bool {
        let isWrong = ask.isOwners && isAlone(ask) && owner === ask.client
        end(ask)
        return !isWrong
    }

    /// Records that a request was carried out but not stored for the next start.
    /// - Parameter change: The change that the request made to the settings.
    func unwritten(_ ask: Ask, _ change: @escaping (inout Setting?) -> Void) {
        carriedOut(ask, change)
        isKnown = false
    }

    private func carriedOut(_ ask: Ask, _ change: @escaping (inout Setting?) -> Void) {
        end(ask)
        ask.change = change
        // A request that waits for the disk is answered after later requests of the same client, and carried out before them.
        for other in asks where other.client === ask.client && other.begin >= ask.begin { other.change?(&setting) }
        owner = setting == nil ? nil : ask.client
    }

    /// Records that the daemon and all connections are gone.
    /// - Parameter isKept: True if the next daemon certainly finds everything that was acknowledged (Behaviour B29).
    func lifeEnded(isKept: Bool) {
        isKnown = isKept && isKnown && setting?.staysClosed == true && asks.allSatisfy { $0.end != nil }
        (owner, asks) = (nil, [])
    }

    private func end(_ ask: Ask) {
        moment += 1
        ask.end = moment
    }

    /// Returns true if no other client can have changed the barrier since this request.
    private func isAlone(_ ask: Ask) -> Bool {
        asks.allSatisfy { other in other.client === ask.client || other.end.map { $0 < ask.begin } ?? false }
    }
}
