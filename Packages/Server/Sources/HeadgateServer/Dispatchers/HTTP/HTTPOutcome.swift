/// What came of a request.
enum HTTPOutcome: Equatable {
    /// An answer, at least as far as its status.
    case answered(HTTPAnswer)
    /// No answer; the cause is in a few words for people, always the same ones for the same cause, and without secrets.
    case failed(cause: String)
}

/// An answer to a request.
struct HTTPAnswer: Equatable {
    /// From 200 on: interim answers are not told.
    var status: Int
    /// Those of the wanted headers that it has, by the name they were asked for.
    var headers: [String: String]
    /// The beginning of the body.
    var body: [UInt8]
    /// Why it is not whole; nil for a whole one.
    var fault: String?

    /// Whether the status is a success, 2xx.
    var isSuccess: Bool {
        (200..<300).contains(status)
    }
}
