/// A barrier whose states a client sets, for all its scopes or for one dispatcher (Behaviour B29).
public final class RemoteBarrier: DescribedBarrier {
    /// The kind that lists show.
    public static let kind = "RemoteBarrier"

    /// What was said of the way to a dispatcher.
    struct Statement: Equatable {
        var state: BarrierState
        /// The words that came with it.
        var reason: String?
    }

    /// All that was said.
    struct Setting: Equatable {
        /// For the dispatchers of which nothing else was said.
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

    /// What is in force; state and flushability change together.
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
    /// What a registration says; it takes back all that was said before.
    init(_ registration: RemoteBarrierRegistration) {
        self.init(
            general: RemoteBarrier.Statement(state: registration.state), isFlushable: registration.isFlushable)
    }

    /// Takes in a change. A new state has the reason that comes with it or none: an old one does not explain it.
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

    /// The owner has gone, and left the barrier behind.
    mutating func abandon(to state: BarrierState?, reason: String) {
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
