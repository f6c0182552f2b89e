import CCurl
import CFuzzSocket
import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// Whole HTTP answers, through libcurl: whatever a server sends ends the request, with an answer or without, and nothing
/// counts as delivered that was not answered whole.
enum HTTPTarget {
    /// What a server sends before it closes the connection.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard input.count > 0 else { return -1 }
        look(outcome(of: input), of: Array(input))
        return 0
    }

    private static let limit = 64

    private static func outcome(of input: UnsafeRawBufferPointer) -> HTTPOutcome {
        var request = HTTPRequest(url: "http://127.0.0.1:1/", body: Array("[]".utf8))
        request.answerHeaders = ["Retry-After", "ETag"]
        request.answerLimit = limit
        let transfer = HTTPTransfer(request) { _ in }
        transfer.configure(userAgent: "fuzz", noProxy: "*")
        precondition(transfer.optionError == CURLE_OK)
        let code = fuzz_socket_perform(transfer.easy, input.bindMemory(to: UInt8.self).baseAddress, input.count)
        precondition(code >= 0, "no socket")
        return transfer.outcome(CURLcode(UInt32(code)))
    }

    private static func look(_ outcome: HTTPOutcome, of sent: [UInt8]) {
        switch outcome {
        case .failed(let cause): precondition(!cause.isEmpty)
        case .answered(let answer):
            precondition((200...999).contains(answer.status) && answer.body.count <= limit)
            if answer.fault == nil { mustBeWhole(sent) }
            let wait = answer.headers["Retry-After"].flatMap { RetryAfter.wait($0, at: Timestamp(milliseconds: 0)) }
            precondition(wait.map { $0 >= .zero } ?? true)
            _ = HTTPAnswerPolicy().refusal(status: answer.status, retryAfter: wait)
        }
    }

    /// Only what begins as an answer is one, and only with the blank line behind its head it is whole.
    private static func mustBeWhole(_ sent: [UInt8]) {
        precondition(sent.starts(with: Array("HTTP/".utf8)), "an answer out of nothing")
        let text = sent.filter { $0 != UInt8(ascii: "\r") }
        let isWhole = zip(text, text.dropFirst()).contains { $0 == UInt8(ascii: "\n") && $1 == UInt8(ascii: "\n") }
        precondition(isWhole, "a whole answer without the end of its head")
    }
}
