/// The answer to a request.
struct HTTPAnswer: Equatable {
    /// The status, from 200 on. Interim answers are not reported.
    var status: Int
    /// The values of the headers in ``HTTPRequest/answerHeaders`` that the answer has, by the names in that list.
    var headers: [String: String]
    /// The beginning of the body.
    var body: [UInt8]
    /// The reason why the answer is incomplete, or nil.
    var fault: String?

    /// True for a status 2xx.
    var isSuccess: Bool {
        (200..<300).contains(status)
    }
}
