/// The state of a dispatcher that decides whether it sends batches at all. Pure.
enum SendingState: Equatable {
    case taking
    /// The destination refused the dispatcher. Nothing is sent until an operator resumes it or its settings change
    /// (Behaviour D7).
    case held
    /// The dispatcher sends no more batches (Behaviour D11).
    case stopping(wasHeld: Bool)

    var isStopping: Bool { self != .taking && self != .held }

    /// True if a refusal by the destination holds the dispatcher, or held it when it was stopped.
    var isRefused: Bool { self == .held || self == .stopping(wasHeld: true) }

    /// Stops sending batches.
    mutating func stop() {
        if !isStopping { self = .stopping(wasHeld: isRefused) }
    }

    /// Records whether a refusal by the destination holds the dispatcher.
    mutating func setRefused(_ isRefused: Bool) {
        self = isStopping ? .stopping(wasHeld: isRefused) : isRefused ? .held : .taking
    }
}

/// The state of an evaluation of a dispatcher (``DeliveryMachine/step(_:from:)``).
enum EvaluationState {
    /// Events that are too old or purged are removed. Then batches are sent, unless `isAll` is true.
    case droppingExpired(isAll: Bool)
    /// Batches are sent as long as the dispatcher is open.
    case sending(hasDropped: Bool)
    /// The dispatcher builds a batch.
    case laying
    /// No further batch is sent. The queue depth is published.
    case resting
    /// The reasons that hold pending events are recorded.
    case marking
    case over
}
