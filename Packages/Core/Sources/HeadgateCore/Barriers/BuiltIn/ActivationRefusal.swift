/// Why a board did not open the way to a dispatcher, in words for people.
struct ActivationRefusal: Error {
    let cause: String

    init(cause: String) {
        self.cause = cause
    }

    init(_ outcome: ActivationOutcome, _ board: String) {
        cause = "board \(board) " + ActivationRefusal.words(outcome)
    }

    private static func words(_ outcome: ActivationOutcome) -> String {
        switch outcome {
        case .completed: "refused"
        case .failed(let fault): "failed: \(fault.message.prefix(longestMessage))"
        case .notServed: "is served by nobody"
        case .providerLost: "lost its process"
        case .timedOut: "did not answer in time"
        case .cancelled(let barrier, let cause): "was held by \(barrier): \(cause.rawValue)"
        case .circle(let boards): "waits in a circle: \(boards.joined(separator: ", "))"
        case .givenUp: "was given up"
        }
    }

    /// More of another's words is not for one line.
    private static let longestMessage = 200
}
