import HeadgateData

/// The barriers that clients have registered, with their owners (Behaviour B29).
///
/// A barrier lasts as long as its owner is connected, unless it was registered to stay. Barriers that stay are stored,
/// and exist again after a restart before any event is sent.
public final class RemoteBarriers {
    /// The most remote barriers at one time, so that abandoned barriers do not accumulate and lists stay readable.
    public static let most = 256

    private let coordinator: BarrierCoordinator
    /// The configured barriers, which know the ids that are reserved for barriers of the service.
    private let configured: ConfiguredBarriers
    private let turn: PendingEvaluations
    private let kept: StoredValues
    private var records = NameTable<Record>()

    private struct Record {
        let barrier: RemoteBarrier
        /// The owner; nil once it has disconnected.
        var owner: RemoteBarrierOwner?
        var registration: RemoteBarrierRegistration
    }

    init(coordinator: BarrierCoordinator, configured: ConfiguredBarriers, turn: PendingEvaluations, kept: StoredValues)
    {
        self.coordinator = coordinator
        self.configured = configured
        self.turn = turn
        self.kept = kept
        restore()
    }

    /// Registers the stored barriers: without an owner, in the state for a disconnection.
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

    /// Removes the barriers without an owner whose ids the settings now use.
    public func yieldTurn(to ids: Set<String>) {
        for (id, record) in records where ids.contains(id) && record.owner == nil {
            remove(id, record.barrier) { _ in }
        }
    }

    // MARK: Changes

    /// Registers a barrier for the dispatchers in its scopes. The owner may register it again, and another client may
    /// take over a barrier without an owner. The new registration replaces all earlier states.
    /// - Parameter then: is called once the registration survives a restart, or at once if it does not have to.
    public func register(
        _ id: String, _ registration: RemoteBarrierRegistration, by owner: RemoteBarrierOwner,
        then: @escaping (StoreFault?) -> Void = { _ in }
    ) throws(RemoteBarrierRefusal) {
        let setting = RemoteBarrier.Setting(registration)
        let barrier = try registrable(id, by: owner) ?? RemoteBarrier(setting)
        barrier.current = setting
        records[id] = Record(barrier: barrier, owner: owner, registration: registration)
        register(id)
        keep(id, then)
    }

    /// Changes a barrier's state for its owner.
    /// - Parameter then: is called once the change survives a restart, or at once if it does not have to.
    public func set(
        _ id: String, _ change: RemoteBarrierChange, by owner: RemoteBarrierOwner,
        then: @escaping (StoreFault?) -> Void = { _ in }
    ) throws(RemoteBarrierRefusal) {
        let barrier = try owned(id, by: owner)
        if let dispatcher = change.dispatcher, !coordinator.hasDispatcher(dispatcher) {
            throw .unknownDispatcher(dispatcher)
        }
        barrier.current.apply(change)
        // The reason may have changed without the state.
        turn.barriersChanged()
        keep(id, then)
    }

    /// Unregisters a barrier.
    /// - Parameters:
    ///   - id: the barrier's id.
    ///   - owner: the caller.
    ///   - force: true to unregister a barrier of any owner.
    ///   - then: is called once the change survives a restart, or at once if it does not have to.
    public func unregister(
        _ id: String, by owner: RemoteBarrierOwner, force: Bool, then: @escaping (StoreFault?) -> Void = { _ in }
    ) throws(RemoteBarrierRefusal) {
        remove(id, force ? try remote(id).barrier : try owned(id, by: owner), then)
    }

    /// Stores a barrier that stays when its owner disconnects. Deletes the stored value of any other barrier.
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

    /// Records that an owner has disconnected or has lost the right to own barriers. Each of its barriers is
    /// unregistered or stays, as its registration says.
    /// - Returns: true if it had any.
    @discardableResult
    public func ownerLeft(_ number: Int) -> Bool {
        let owned = records.filter { $0.value.owner?.number == number }
        for (id, record) in owned.sorted(by: { $0.key < $1.key }) { leave(id, record) }
        return !owned.isEmpty
    }

    private func leave(_ id: String, _ record: Record) {
        switch record.registration.onDisconnect {
        case .unregister: remove(id, record.barrier) { _ in }
        case .open: ownerLeft(id, record, to: .open)
        case .close: ownerLeft(id, record, to: .closed)
        case .keep: ownerLeft(id, record, to: nil)
        }
    }

    // MARK: Queries

    /// The scopes that name no existing dispatcher. They take effect when the dispatcher is added (Behaviour B4).
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

    /// Returns the barrier with this id that the caller may register again or take over, or nil if the id is free.
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
        guard let present = record.owner else { throw .ownerless }
        guard present.number == owner.number else { throw .belongs(to: present.name) }
        return record.barrier
    }

    // MARK: Registering

    private func register(_ id: String) {
        guard let record = records[id] else { return }
        let identity = BarrierIdentity(id: id, kind: RemoteBarrier.kind, owner: record.owner?.name)
        coordinator.register(record.barrier, identity: identity, scopes: record.registration.scopes)
    }

    private func ownerLeft(_ id: String, _ record: Record, to state: BarrierState?) {
        record.barrier.current.ownerLeft(
            to: state, reason: "its owner \(record.owner.map { "\($0.name) " } ?? "")has disconnected")
        records[id]?.owner = nil
        register(id)
    }

    private func remove(_ id: String, _ barrier: RemoteBarrier, _ then: @escaping (StoreFault?) -> Void) {
        records[id] = nil
        coordinator.unregister(barrier)
        keep(id, then)
    }
}

/// The owner of a remote barrier.
public struct RemoteBarrierOwner: Sendable, Equatable {
    /// A number that identifies the owner.
    public var number: Int
    /// The owner's name for people: `shop/2.1 (uid 1000, session-7)`.
    public var name: String

    public init(number: Int, name: String) {
        self.number = number
        self.name = name
    }
}

/// The reason for refusing an operation on a remote barrier.
public enum RemoteBarrierRefusal: Error, Sendable, Equatable {
    /// There is no barrier with this id.
    case unknown
    /// The barrier is configured or built in, or its id is reserved.
    case notRemote
    /// The barrier belongs to another owner with this name.
    case belongs(to: String)
    /// The owner has disconnected. Registering the barrier takes it over.
    case ownerless
    /// There is no such dispatcher.
    case unknownDispatcher(String)
    /// There are as many remote barriers as are allowed.
    case tooMany(most: Int)
}
