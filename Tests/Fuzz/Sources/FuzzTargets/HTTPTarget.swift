import CCurl
import CFuzzSocket
import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer

/// Whole HTTP answers, through libcurl. Any bytes of a server must end the request, and an incomplete answer must not
/// count as delivered. If the handle may be used again, a second request must have the same result.
enum HTTPTarget {
    /// The input is what a server sends before it closes the connection.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard input.count > 0 else { return -1 }
        let target = HTTPRequest.Target(url: "http://127.0.0.1:1/")
        let handle = HTTPHandle(to: target, userAgent: "fuzz", noProxy: "*", sockets: OpenSockets())
        let (outcome, mayProceed) = outcome(of: input, by: handle)
        inspect(outcome, of: Array(input))
        guard mayProceed else { return 0 }
        handle.rest()
        let again = self.outcome(of: input, by: handle)
        precondition(again.outcome == outcome, "not the same once more: \(outcome), then \(again)")
        return 0
    }

    private static let limit = 64

    /// - Returns: The outcome of a request, and true if the handle may be used again.
    private static func outcome(
        of input: UnsafeRawBufferPointer, by handle: HTTPHandle
    ) -> (outcome: HTTPOutcome, mayProceed: Bool) {
        let request = HTTPRequest(
            target: handle.target, body: Array("[]".utf8), answerHeaders: ["Retry-After", "ETag"], answerLimit: limit)
        let transfer = HTTPTransfer(request, by: handle) { _ in }
        transfer.prepare()
        precondition(handle.optionError == CURLE_OK)
        let code = fuzz_socket_perform(handle.easy, input.bindMemory(to: UInt8.self).baseAddress, input.count)
        precondition(code >= 0, "no socket")
        return (transfer.outcome(CURLcode(UInt32(code))), code == 0)
    }

    private static func inspect(_ outcome: HTTPOutcome, of sent: [UInt8]) {
        switch outcome {
        case .failed(let cause, _), .unmade(let cause): precondition(!cause.isEmpty)
        case .refusedByProxy(let answer): preconditionFailure("no proxy is there: \(answer.status)")
        case .answered(let answer):
            // A compressed body may be longer.
            let isShort = answer.body.count <= 64 * 1024
            precondition((200...999).contains(answer.status) && isShort, "\(answer.status)")
            _ = AnswerText(answer, isCut: false, mostBytes: limit).excerpt(SecretMask(["secret"]), limit: limit)
            if answer.fault == nil { mustBeWhole(sent) }
            let wait = answer.headers["Retry-After"].flatMap { RetryAfter.wait($0, at: Timestamp(milliseconds: 0)) }
            precondition(wait.map { $0 >= .zero } ?? true)
            _ = HTTPAnswerPolicy().refusal(status: answer.status, retryAfter: wait)
        }
    }

    /// Checks that a complete answer begins as an HTTP answer and contains the blank line after the headers.
    private static func mustBeWhole(_ sent: [UInt8]) {
        precondition(sent.starts(with: Array("HTTP/".utf8)), "an answer out of nothing")
        let text = sent.filter { $0 != UInt8(ascii: "\r") }
        let isWhole = zip(text, text.dropFirst()).contains { $0 == UInt8(ascii: "\n") && $1 == UInt8(ascii: "\n") }
        precondition(isWhole, "a whole answer without the end of its head")
    }
}
