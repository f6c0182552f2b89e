import HeadgateData

/// A condition that opens or blocks dispatchers (Behaviour B1).
///
/// Barriers live on the scheduler: they are called there, and must change their state there (Behaviour B11). They are
/// not `Sendable`, so that most violations do not compile.
public protocol Barrier: AnyObject {
    /// Returns the state for one dispatcher as it changes. A barrier that has not given a state counts as closed and
    /// not flushable (Behaviour B3).
    func onState(for dispatcherId: String) -> Observable<BarrierState>
    /// True while a flush may ignore the closed barrier (Behaviour B2).
    var isFlushable: Observable<Bool> { get }
}

extension Barrier {
    /// The default: the barrier is flushable.
    public var isFlushable: Observable<Bool> { Observables.just(true) }
}

/// A barrier that can get new settings while it runs (Behaviour B7).
public protocol ConfigurableBarrier: Barrier {
    /// The name of this kind of barrier in settings.
    static var id: String { get }
    /// Applies new settings. A barrier that cannot use them keeps the old ones and throws the fault.
    func updateConfiguration(_ configuration: DataObject) throws
}

/// A barrier that can give a reason for its state (Behaviour B10).
public protocol DescribedBarrier: Barrier {
    /// Returns the reason for the state: an operator's text, or the cause. Nil if there is none.
    func reason(for dispatcherId: String) -> String?
}

/// The names of a barrier, for people and for `queue_reason` (Behaviour B10).
public struct BarrierIdentity: Sendable, Equatable {
    /// The unique name in lists: `ManualBarrier:collect`.
    public var id: String
    /// The kind of barrier: `ManualBarrier`.
    public var kind: String
    /// The reason word for waiting events: `manual`; the id for kinds without a word.
    public var word: String
    /// The client that registered the barrier; nil for the daemon's own.
    public var owner: String?

    public init(id: String, kind: String, word: String? = nil, owner: String? = nil) {
        self.id = id
        self.kind = kind
        self.word = word ?? id
        self.owner = owner
    }
}

/// The state of a barrier for a dispatcher (Behaviour B1).
public enum BarrierState: String, CaseIterable, Sendable {
    /// Dispatches may be sent.
    case open
    /// Dispatches are held.
    case closed
}

/// A built-in barrier with its own reason word (Behaviour B10).
protocol BarrierJSON: Barrier {
    /// The reason word for waiting events.
    static var word: String { get }
}

extension Barrier {
    /// The barrier's reason word; nil if its id is used.
    var word: String? {
        (self as? any BarrierJSON).map { type(of: $0).word }
    }
}

/// A barrier that has to determine its state, which may be unknown (Behaviour B3) or fail (Behaviour B9).
public protocol UncertainBarrier: Barrier {
    /// Returns the findings for one dispatcher as they change.
    func onFinding(for dispatcherId: String) -> Observable<BarrierFinding>
}

/// The result of determining a barrier's state.
public enum BarrierFinding {
    /// The state was determined.
    case state(BarrierState)
    /// The state is unknown at present. The barrier counts as closed and not flushable, and is shown as `waiting`.
    case unknown
    /// Determining the state failed. The error is logged and counted, and the state becomes the configured `on_error`.
    case failed(any Error)

    /// Creates a finding from the result of `calculate`, or from the error that it throws.
    public init(_ calculate: () throws -> BarrierState) {
        do {
            self = .state(try calculate())
        } catch {
            self = .failed(error)
        }
    }

    /// The state, if it was determined.
    public var state: BarrierState? {
        if case .state(let state) = self { state } else { nil }
    }
}

extension UncertainBarrier {
    /// Returns the states among the findings.
    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        onFinding(for: dispatcherId).compactMap(\.state)
    }
}

/// A placeholder for a barrier whose factory threw an error (Behaviour B9).
final class PlaceholderBarrier: DescribedBarrier {
    private let state: BarrierState
    private let cause: String

    init(state: BarrierState, cause: String) {
        self.state = state
        self.cause = cause
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observables.just(state)
    }

    func reason(for dispatcherId: String) -> String? {
        "could not be created: \(cause)"
    }
}
