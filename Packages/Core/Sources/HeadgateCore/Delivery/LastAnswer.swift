/// What an attempt brought for events that may have to be given up (Behaviour D10).
struct LastAnswer {
    /// The destination's status code, where it has such codes.
    var status: Int?
    /// A piece of what it said.
    var text: String?
    /// Whether the attempt counts for `max_attempts`: without an answer, or where only the size was wrong, it does not
    /// (Behaviour D9).
    var chargesAttempt = false

    init(_ result: SendResult) {
        guard case .refused(let refusal) = result else { return }
        status = refusal.status
        text = refusal.answer
        chargesAttempt = refusal.isCharged
    }

    init(_ outcome: EventOutcome) {
        text = outcome.cause
        switch outcome {
        case .delivered, .dead(.tooLarge, _): break
        case .retry(_, let charged): chargesAttempt = charged
        case .dead: chargesAttempt = true
        }
    }
}
