import HeadgateData

/// Something that opens and closes the way to dispatchers (Behaviour B1).
///
/// Barriers live on the worker: they are asked there, and must change their state there (Behaviour B11). They are not
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
