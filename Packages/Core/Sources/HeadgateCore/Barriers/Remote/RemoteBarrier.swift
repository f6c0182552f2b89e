/// A barrier whose state a client sets, for all its scopes or for one dispatcher (Behaviour B29).
public final class RemoteBarrier: DescribedBarrier {
    /// The kind that lists show.
    public static let kind = "RemoteBarrier"

    /// A state that the owner has set, with its reason.
    struct Statement: Equatable {
        var state: BarrierState
        /// The owner's reason.
        var reason: String?
    }

    /// All states of a barrier.
    struct Setting: Equatable {
        /// The state for dispatchers without their own.
        var general: Statement
        var exceptions: [String: Statement] = [:]
        var isFlushable: Bool

        func statement(for dispatcherId: String) -> Statement {
            exceptions[dispatcherId] ?? general
        }
    }

    private let setting: StateSubject<Setting>

    init(_ setting: Setting) {
        self.setting = StateSubject(setting)
    }

    /// The present setting. State and flushability change together.
    var current: Setting {
        get { setting.value }
        set { setting.value = newValue }
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        setting.wrappedValue.map { $0.statement(for: dispatcherId).state }
    }

    public var isFlushable: Observable<Bool> {
        setting.wrappedValue.map(\.isFlushable)
    }

    public func reason(for dispatcherId: String) -> String? {
        setting.value.statement(for: dispatcherId).reason
    }
}

extension RemoteBarrier.Setting {
    /// Creates the setting of a registration, which replaces all earlier states.
    init(_ registration: RemoteBarrierRegistration) {
        self.init(
            general: RemoteBarrier.Statement(state: registration.state), isFlushable: registration.isFlushable)
    }

    /// Applies a change. A new state gets the reason of the change, or none, because the old reason does not explain
    /// it.
    mutating func apply(_ change: RemoteBarrierChange) {
        isFlushable = change.isFlushable ?? isFlushable
        guard let dispatcher = change.dispatcher else {
            if change.state != nil { exceptions = [:] }
            return general.apply(change)
        }
        guard change.state != nil || change.reason != nil else { return }
        var statement = statement(for: dispatcher)
        statement.apply(change)
        exceptions[dispatcher] = statement
    }

    /// Applies the state for an owner that has disconnected.
    mutating func ownerLeft(to state: BarrierState?, reason: String) {
        if let state {
            general = RemoteBarrier.Statement(state: state)
            exceptions = [:]
        }
        general.reason = general.reason ?? reason
    }
}

extension RemoteBarrier.Statement {
    fileprivate mutating func apply(_ change: RemoteBarrierChange) {
        if let state = change.state { self = RemoteBarrier.Statement(state: state) }
        reason = change.reason ?? reason
    }
}
