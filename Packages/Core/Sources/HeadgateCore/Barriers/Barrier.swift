import HeadgateData

/// Something that opens and closes the way to dispatchers (Behaviour B1).
///
/// Barriers live on the scheduler: they are asked there, and must change their state there (Behaviour B11). They are not
/// `Sendable`, so that most mistakes do not compile.
public protocol Barrier: AnyObject {
    /// The state for one dispatcher, over time. A barrier that has not said anything yet counts as closed and not
    /// flushable (Behaviour B3).
    func onState(for dispatcherId: String) -> Observable<BarrierState>
    /// Whether a flush may ignore the barrier while it is closed, over time (Behaviour B2).
    var isFlushable: Observable<Bool> { get }
}

extension Barrier {
    /// A barrier is flushable unless it says otherwise.
    public var isFlushable: Observable<Bool> { Observables.just(true) }
}

/// A barrier that can be told new settings while it runs (Behaviour B7).
public protocol ConfigurableBarrier: Barrier {
    /// The name under which settings know this kind of barrier.
    static var id: String { get }
    /// Takes new settings. One that cannot use them keeps the old ones and throws what is wrong.
    func updateConfiguration(_ configuration: DataObject) throws
}

/// A barrier that can tell people more than its state (Behaviour B10).
public protocol DescribedBarrier: Barrier {
    /// Why the barrier is as it is: an operator's words, or the cause. Nil where there is nothing to say.
    func reason(for dispatcherId: String) -> String?
}

/// Who a barrier is, for people and for `queue_reason` (Behaviour B10).
public struct BarrierIdentity: Sendable, Equatable {
    /// The name in lists, unique: `ManualBarrier:collect`.
    public var id: String
    /// What sort of barrier it is: `ManualBarrier`.
    public var kind: String
    /// One word that says why events wait: `manual`; the id for kinds without a word.
    public var word: String
    /// Whom it belongs to when a client registered it; nil for the daemon's own.
    public var owner: String?

    public init(id: String, kind: String, word: String? = nil, owner: String? = nil) {
        self.id = id
        self.kind = kind
        self.word = word ?? id
        self.owner = owner
    }
}

/// What a barrier says about the way to a dispatcher (Behaviour B1).
public enum BarrierState: String, CaseIterable, Sendable {
    /// Dispatches may go on.
    case open
    /// Dispatches wait.
    case closed
}

/// A built-in barrier with a reason word of its own (Behaviour B10).
protocol WordedBarrier: Barrier {
    /// One word that says why events wait.
    static var word: String { get }
}

extension Barrier {
    /// The barrier's word for why events wait; nil: its id will do.
    var word: String? {
        (self as? any WordedBarrier).map { type(of: $0).word }
    }
}

/// A barrier that has to find its state out, and may not know it (Behaviour B3) or fail at it (Behaviour B9).
public protocol UncertainBarrier: Barrier {
    /// What is found for one dispatcher, over time.
    func onFinding(for dispatcherId: String) -> Observable<BarrierFinding>
}

/// What came of finding a barrier's state out.
public enum BarrierFinding {
    /// It is this.
    case state(BarrierState)
    /// It is not known now: the barrier counts as closed and not flushable, and is shown as `waiting`.
    case unknown
    /// Finding it out failed: that is logged and counted, and the state becomes the configured `on_error`.
    case failed(any Error)

    /// What `calculate` gives, or that it threw.
    public init(_ calculate: () throws -> BarrierState) {
        do {
            self = .state(try calculate())
        } catch {
            self = .failed(error)
        }
    }

    /// The state, where it was found.
    public var state: BarrierState? {
        if case .state(let state) = self { state } else { nil }
    }
}

extension UncertainBarrier {
    /// The states among the findings.
    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        onFinding(for: dispatcherId).compactMap(\.state)
    }
}

/// Stands where a barrier should that could not be made (Behaviour B9).
final class StandInBarrier: DescribedBarrier {
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
        "could not be made: \(cause)"
    }
}
