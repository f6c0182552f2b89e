/// The stable words by which the service's own errors, all of code -32000, are told apart (Protocol, Errors).
public enum ErrorReason: String, Sendable, CaseIterable {
    /// The store is at its limit and does not take the event.
    case queueFull = "queue_full"
    /// The event is too large to be taken.
    case eventTooLarge = "event_too_large"
    /// A line was longer than allowed; it was skipped.
    case lineTooLong = "line_too_long"
    /// The store could not write or read.
    case storage
    /// The caller may not use this method.
    case unauthorized
    /// There is nothing of that name or id.
    case notFound = "not_found"
    /// It contradicts what is there already.
    case conflict
    /// It was cancelled, or refused by a barrier.
    case cancelled
    /// The process that was to do it has disconnected.
    case providerLost = "provider_lost"
    /// It took too long.
    case timeout
    /// Boards wait for each other in a circle, or too deep.
    case activationCycle = "activation_cycle"
    /// A limit of the connection or of the service.
    case limit
    /// The service is about to stop and takes nothing new.
    case shuttingDown = "shutting_down"
    /// The settings were refused as a whole; the faults say why.
    case invalidSettings = "invalid_settings"

    /// What to tell people when there is nothing better to say.
    public var usualMessage: String {
        switch self {
        case .queueFull: "the queue is full"
        case .eventTooLarge: "the event is too large"
        case .lineTooLong: "the line is too long"
        case .storage: "the store failed"
        case .unauthorized: "not allowed"
        case .notFound: "not found"
        case .conflict: "conflict"
        case .cancelled: "cancelled"
        case .providerLost: "the provider disconnected"
        case .timeout: "timed out"
        case .activationCycle: "activation cycle"
        case .limit: "limit exceeded"
        case .shuttingDown: "the service is shutting down"
        case .invalidSettings: "invalid settings"
        }
    }
}
