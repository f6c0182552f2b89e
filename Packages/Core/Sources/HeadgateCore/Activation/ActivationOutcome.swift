import HeadgateData

/// How an activation ends: exactly once.
public enum ActivationOutcome: Sendable, Equatable {
    /// The board's process answered.
    case completed(done: Bool, output: DataItem?)
    /// The board's process answered with an error, which is told as it came.
    case failed(ActivationFault)
    /// Nobody serves the board (`not_found`).
    case notServed
    /// The process that was to answer is gone (`provider_lost`).
    case providerLost
    /// The process did not answer in time (`timeout`).
    case timedOut
    /// A barrier before the board did not complete (`cancelled`).
    case cancelled(barrier: String, cause: BarrierCause)
    /// Boards wait for each other in a circle, or too deep (`activation_cycle`); the boards, from the activated one on.
    case circle([String])
    /// Whoever asked gave it up, or is gone.
    case givenUp
}

/// Why a barrier did not complete (Behaviour A2).
public enum BarrierCause: String, Sendable {
    /// Its process answered with `done: false` or an error.
    case refused
    /// It took too long.
    case timeout
    /// Nobody serves it, or no longer.
    case providerLost = "provider_lost"
}

/// An error with which a board's process answered.
public struct ActivationFault: Error, Sendable, Equatable {
    /// For people.
    public var message: String
    /// The error as it came: `code`, `message`, `data`.
    public var error: DataObject?

    public init(message: String, error: DataObject? = nil) {
        self.message = message
        self.error = error
    }
}
