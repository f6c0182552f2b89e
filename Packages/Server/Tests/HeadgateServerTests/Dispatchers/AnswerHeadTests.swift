import Testing

@testable import HeadgateServer

/// Tests the check of an answer's head (status line and headers), which gets the head line by line.
@Suite("http dispatcher: heads of answers")
struct AnswerHeadTests {
    private func head(_ lines: String...) -> AnswerHead {
        var head = AnswerHead()
        for line in lines { Array(line.utf8).withUnsafeBytes { head.take($0) } }
        return head
    }

    @Test("D3: a status line, headers and a blank line are a complete head, with CRLF or LF as line ends")
    func whole() {
        for end in ["\r\n", "\n"] {
            let head = head("HTTP/1.1 200 OK" + end, "Server: x" + end, end)
            #expect(head.isSound && head.fault == nil)
        }
        #expect(head("HTTP/2 200\r\n", "\r\n").isSound && head("HTTP/1.0 200 \r\n", "\r\n").fault == nil)
    }

    @Test("D3: an empty answer, or an answer that does not begin with a status line, is invalid")
    func noAnswer() {
        #expect(!head().isSound && head().fault == "answer cut short")
        #expect(!head("\r\n").isSound && head("\r\n").fault != nil)
        #expect(!head("Server: x\r\n", "HTTP/1.1 200 OK\r\n", "\r\n").isSound)
    }

    @Test("D3: a head without a blank line at its end is reported as cut short")
    func cut() {
        let head = head("HTTP/1.1 200 OK\r\n", "Server: x\r\n")
        #expect(head.isSound && head.fault == "answer cut short")
    }

    @Test(
        "D3: an invalid status line makes the answer invalid, even if a valid one precedes or follows it",
        arguments: ["HTTP/x 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1", "HTTP/1.1 2000", "HTTP/1.1.1 200 OK", "HTTP/ 200"])
    func brokenStaysBroken(line: String) {
        #expect(!head(line + "\r\n", "\r\n").isSound)
        #expect(!head(line + "\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n").isSound)
        #expect(!head(line + "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n").isSound)
        #expect(!head("HTTP/1.1 200 OK\r\n", "\r\n", line + "\r\n", "\r\n").isSound)
    }

    @Test("D3: after an interim answer the final one is required; a trailer may follow the body")
    func several() {
        let interim = head("HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/1.1 200 OK\r\n")
        #expect(interim.isSound && interim.fault != nil)
        let trailer = head("HTTP/1.1 200 OK\r\n", "\r\n", "X-Checksum: 1\r\n")
        #expect(trailer.isSound && trailer.fault == nil)
    }
}
