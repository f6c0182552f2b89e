import HeadgateData

/// The barriers that clients registered, and whom they belong to (Behaviour B29).
///
/// They last as long as their owners are connected. Those that stay behind are kept in the store, and exist again after a restart
/// before anything is sent.
public final class RemoteBarriers {
    /// The most that there may be at once, so that barriers left behind do not pile up without end, and what is told of
    /// them all stays readable.
    public static let most = 256

    private let coordinator: BarrierCoordinator
    /// Knows which ids are kept for barriers of the service, there or not.
    private let configured: ConfiguredBarriers
    private let turn: TurnRecord
    private let kept: KeptValues
    private var records = NameTable<Record>()

    private struct Record {
        let barrier: RemoteBarrier
        /// Nil once the owner has left it behind.
        var owner: RemoteBarrierOwner?
        var registration: RemoteBarrierRegistration
    }

    init(coordinator: BarrierCoordinator, configured: ConfiguredBarriers, turn: TurnRecord, kept: KeptValues) {
        self.coordinator = coordinator
        self.configured = configured
        self.turn = turn
        self.kept = kept
        restore()
    }

    /// Puts the barriers that were kept back in place: without an owner, in the state in which a disconnection leaves them.
    private func restore() {
        for name in kept.names.sorted() {
            guard let id = KeptRemoteBarrier.id(of: name), let barrier = kept[name].flatMap(KeptRemoteBarrier.init)
            else { continue }
            let owner = RemoteBarrierOwner(number: 0, name: barrier.owner)
            let record = Record(
                barrier: RemoteBarrier(barrier.setting), owner: owner, registration: barrier.registration)
            records[id] = record
            leave(id, record)
        }
    }

    /// Takes barriers away that have no owner, and whose ids the settings of a start name.
    public func giveWay(to ids: Set<String>) {
        for (id, record) in records where ids.contains(id) && record.owner == nil {
            remove(id, record.barrier) { _ in }
        }
    }

    // MARK: Changes

    /// Puts a barrier before the dispatchers in its scopes. Its owner may do so again, and anybody may take over one that
    /// was left behind: what was said of it before is replaced as a whole.
    /// - Parameter then: called once that survives a restart: at once where it does not have to.
    public func register(
        _ id: String, _ registration: RemoteBarrierRegistration, by owner: RemoteBarrierOwner,
        then: @escaping (StoreFault?) -> Void = { _ in }
    ) throws(RemoteBarrierRefusal) {
        let setting = RemoteBarrier.Setting(registration)
        let barrier = try registrable(id, by: owner) ?? RemoteBarrier(setting)
        barrier.current = setting
        records[id] = Record(barrier: barrier, owner: owner, registration: registration)
        place(id)
        keep(id, then)
    }

    /// Changes what its owner says of a barrier.
    /// - Parameter then: called once that survives a restart: at once where it does not have to.
    public func set(
        _ id: String, _ change: RemoteBarrierChange, by owner: RemoteBarrierOwner,
        then: @escaping (StoreFault?) -> Void = { _ in }
    ) throws(RemoteBarrierRefusal) {
        let barrier = try owned(id, by: owner)
        if let dispatcher = change.dispatcher, !coordinator.hasDispatcher(dispatcher) {
            throw .unknownDispatcher(dispatcher)
        }
        barrier.current.apply(change)
        // The words may have changed alone, which no way tells.
        turn.barriersChanged()
        keep(id, then)
    }

    /// Takes a barrier away.
    /// - Parameters:
    ///   - force: whether it need not belong to the caller.
    ///   - then: called once that survives a restart: at once where it does not have to.
    public func unregister(
        _ id: String, by owner: RemoteBarrierOwner, force: Bool, then: @escaping (StoreFault?) -> Void = { _ in }
    ) throws(RemoteBarrierRefusal) {
        remove(id, force ? try remote(id).barrier : try owned(id, by: owner), then)
    }

    /// Keeps a barrier that stays when its owner is gone, as it is now, and nothing of one that does not.
    private func keep(_ id: String, _ then: @escaping (StoreFault?) -> Void) {
        let name = KeptRemoteBarrier.name(of: id)
        let record = records[id].flatMap { $0.registration.onDisconnect.stays ? $0 : nil }
        let bytes = record.map {
            KeptRemoteBarrier(
                registration: $0.registration, setting: $0.barrier.current, owner: $0.owner?.name ?? ""
            ).bytes
        }
        guard bytes != nil || kept[name] != nil else { return then(nil) }
        kept.keep(bytes, as: name, then: then)
    }

    /// An owner has disconnected, or may have none any more: its barriers go, or stay behind as they were registered to.
    /// - Returns: whether it had any.
    @discardableResult
    public func ownerLeft(_ number: Int) -> Bool {
        let owned = records.filter { $0.value.owner?.number == number }
        for (id, record) in owned.sorted(by: { $0.key < $1.key }) { leave(id, record) }
        return !owned.isEmpty
    }

    private func leave(_ id: String, _ record: Record) {
        switch record.registration.onDisconnect {
        case .unregister: remove(id, record.barrier) { _ in }
        case .open: abandon(id, record, to: .open)
        case .close: abandon(id, record, to: .closed)
        case .keep: abandon(id, record, to: nil)
        }
    }

    // MARK: Looking

    /// The scopes that name no dispatcher there is; they take effect when it appears (Behaviour B4).
    public var idleScopes: [(barrier: String, dispatcher: String)] {
        records.sorted { $0.key < $1.key }.flatMap { id, record in
            record.registration.scopes.compactMap { scope in
                guard case .dispatcher(let dispatcher) = scope, !coordinator.hasDispatcher(dispatcher) else {
                    return nil
                }
                return (id, dispatcher)
            }
        }
    }

    /// A barrier of this id that the caller may register again or take over; nil when the id is free.
    private func registrable(_ id: String, by owner: RemoteBarrierOwner) throws(RemoteBarrierRefusal) -> RemoteBarrier?
    {
        if let record = records[id] {
            if let other = record.owner, other.number != owner.number { throw .belongs(to: other.name) }
            return record.barrier
        }
        guard !configured.isReserved(id), !coordinator.isTaken(id) else { throw .notRemote }
        guard records.count < RemoteBarriers.most else { throw .tooMany(most: RemoteBarriers.most) }
        return nil
    }

    private func remote(_ id: String) throws(RemoteBarrierRefusal) -> Record {
        if let record = records[id] { return record }
        throw coordinator.isTaken(id) ? .notRemote : .unknown
    }

    private func owned(_ id: String, by owner: RemoteBarrierOwner) throws(RemoteBarrierRefusal) -> RemoteBarrier {
        let record = try remote(id)
        guard let present = record.owner else { throw .abandoned }
        guard present.number == owner.number else { throw .belongs(to: present.name) }
        return record.barrier
    }

    // MARK: Placing

    private func place(_ id: String) {
        guard let record = records[id] else { return }
        let identity = BarrierIdentity(id: id, kind: RemoteBarrier.kind, owner: record.owner?.name)
        coordinator.register(record.barrier, identity: identity, scopes: record.registration.scopes)
    }

    private func abandon(_ id: String, _ record: Record, to state: BarrierState?) {
        record.barrier.current.abandon(to: state, reason: "left behind by \(record.owner?.name ?? "its owner")")
        records[id]?.owner = nil
        place(id)
    }

    private func remove(_ id: String, _ barrier: RemoteBarrier, _ then: @escaping (StoreFault?) -> Void) {
        records[id] = nil
        coordinator.unregister(barrier)
        keep(id, then)
    }
}

/// What a client says of a barrier when it registers it (Behaviour B29).
public struct RemoteBarrierRegistration: Sendable, Equatable {
    public var scopes: [BarrierScope]
    /// Its state for all of them.
    public var state: BarrierState
    public var isFlushable: Bool
    public var onDisconnect: OnDisconnect

    /// What becomes of a barrier when its owner disconnects.
    public enum OnDisconnect: String, CaseIterable, Sendable {
        /// It is taken away.
        case unregister
        /// It stays, open.
        case open
        /// It stays, closed.
        case close
        /// It stays as it is.
        case keep
    }

    public init(
        scopes: [BarrierScope] = [.all], state: BarrierState, isFlushable: Bool = true,
        onDisconnect: OnDisconnect = .unregister
    ) {
        self.scopes = scopes
        self.state = state
        self.isFlushable = isFlushable
        self.onDisconnect = onDisconnect
    }
}

/// What a barrier's owner changes; nil is left as it is (Behaviour B29).
public struct RemoteBarrierChange: Sendable, Equatable {
    public var state: BarrierState?
    /// Holds for the barrier as a whole, also when a dispatcher is named (Behaviour B2).
    public var isFlushable: Bool?
    /// The one dispatcher that state and reason are said of; nil: all, and what was said of single ones is taken back
    /// by a state.
    public var dispatcher: String?
    /// Why, for people. A state that comes without one has none.
    public var reason: String?

    public init(
        state: BarrierState? = nil, isFlushable: Bool? = nil, dispatcher: String? = nil, reason: String? = nil
    ) {
        self.state = state
        self.isFlushable = isFlushable
        self.dispatcher = dispatcher
        self.reason = reason
    }
}

/// Whom a remote barrier belongs to.
public struct RemoteBarrierOwner: Sendable, Equatable {
    /// Tells owners apart.
    public var number: Int
    /// Who that is, for people: `shop/2.1 (uid 1000, session-7)`.
    public var name: String

    public init(number: Int, name: String) {
        self.number = number
        self.name = name
    }
}

/// Why a client may not do something to a barrier.
public enum RemoteBarrierRefusal: Error, Sendable, Equatable {
    /// There is no barrier of this id.
    case unknown
    /// It is configured or built in, or the id is kept for such a one.
    case notRemote
    /// It belongs to somebody else, who is named.
    case belongs(to: String)
    /// Its owner left it behind: registering it takes it over.
    case abandoned
    /// There is no such dispatcher.
    case unknownDispatcher(String)
    /// There are as many remote barriers as there may be.
    case tooMany(most: Int)
}
