/// The state of a dispatcher that decides whether it sends batches at all. Pure.
enum SendingState: Equatable {
    /// Batches are sent. Next: `held` after a refusal, `stopping` or `leaving`.
    case taking
    /// The destination refused the dispatcher. Nothing is sent until an operator resumes it or its settings change
    /// (Behaviour D7). Next: `taking` then, `stopping` or `leaving`.
    case held
    /// The dispatcher sends no more batches (Behaviour D11), and is still evaluated. A refusal and an operator's decision
    /// change only `wasHeld`, and so do new settings. Next: `leaving`.
    case stopping(wasHeld: Bool)
    /// The dispatcher is being removed, and is not evaluated any more. A stop changes nothing; a refusal and an
    /// operator's decision change only `wasHeld`. Next: `taking`, when the dispatcher is added again.
    case leaving(wasHeld: Bool)

    var isStopping: Bool { self != .taking && self != .held }

    var isLeaving: Bool { if case .leaving = self { true } else { false } }

    /// True if a refusal by the destination holds the dispatcher, or held it when it was stopped.
    var isRefused: Bool {
        switch self {
        case .taking: false
        case .held: true
        case .stopping(let wasHeld), .leaving(let wasHeld): wasHeld
        }
    }

    /// Stops sending batches.
    mutating func stop() {
        if !isStopping { self = .stopping(wasHeld: isRefused) }
    }

    /// Stops sending batches, because the dispatcher is being removed.
    mutating func leave() {
        self = .leaving(wasHeld: isRefused)
    }

    /// Applies new settings: a refusal no longer holds the dispatcher. One that was being removed is added again.
    mutating func settingsChanged() {
        if case .stopping = self { self = .stopping(wasHeld: false) } else { self = .taking }
    }

    /// Records whether a refusal by the destination holds the dispatcher.
    mutating func setRefused(_ isRefused: Bool) {
        switch self {
        case .taking, .held: self = isRefused ? .held : .taking
        case .stopping: self = .stopping(wasHeld: isRefused)
        case .leaving: self = .leaving(wasHeld: isRefused)
        }
    }
}

/// The state of an evaluation of a dispatcher (``DeliveryMachine/step(_:from:)``). The beginning of an evaluation is
/// legal in every state, and enters `droppingExpired`.
enum EvaluationState {
    /// Events that are too old or purged are removed. Next: `droppingExpired` again while there are any, then `over` if
    /// `isAll` is true, else `sending`.
    case droppingExpired(isAll: Bool)
    /// Batches are sent as long as the dispatcher is open. Next: `sending` again after events were dropped, `building`
    /// for a batch, `resting` if none may be sent.
    case sending(hasDropped: Bool)
    /// The dispatcher builds a batch. Next: `sending` once the batch is in flight; after an empty batch the next step
    /// is that of `resting`.
    case building
    /// No further batch is sent. The queue depth is published. Next: `marking`.
    case resting
    /// The reasons that hold pending events are recorded. Next: `over`.
    case marking
    /// No evaluation is running. Next: `droppingExpired`.
    case over
}
