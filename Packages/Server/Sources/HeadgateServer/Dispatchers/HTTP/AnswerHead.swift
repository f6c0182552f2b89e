/// What has come of the head of an answer, line by line, as far as libcurl's word is not enough: it takes a head that breaks
/// off for a whole one, and `HTTP/` with anything behind it for a success; and it tells a status of what it has not taken for an answer.
struct AnswerHead {
    /// Whether something came, and all of it began as an HTTP answer does.
    var isSound: Bool { hasBegun && !isBroken }

    private var hasBegun = false
    private var isBroken = false
    private var isWhole = false

    /// Why the answer is not whole; nil when its head is.
    var fault: String? { isWhole ? nil : "answer cut short" }

    /// Takes a line with its end. Behind the head of an interim answer there comes another, and behind a body there may be
    /// a trailer.
    mutating func take(_ line: UnsafeRawBufferPointer) {
        let text = AnswerHead.withoutEnd(line)
        // libcurl takes any line that begins with an end for the blank one.
        guard !text.isEmpty else {
            isWhole = hasBegun
            return
        }
        guard !hasBegun || text.starts(with: AnswerHead.beginning) else { return }
        hasBegun = true
        isWhole = false
        isBroken = isBroken || !AnswerHead.isStatusLine(text)
    }

    private static func withoutEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer.SubSequence {
        let text = line.dropLast(line.last == UInt8(ascii: "\n") ? 1 : 0)
        return text.dropLast(text.last == UInt8(ascii: "\r") ? 1 : 0)
    }

    private static let beginning = Array("HTTP/".utf8)

    /// `HTTP/1.1 200 OK`, or `HTTP/2 200` (RFC 9112, 4).
    private static func isStatusLine(_ line: some Collection<UInt8>) -> Bool {
        guard line.starts(with: beginning) else { return false }
        let parts = line.dropFirst(beginning.count).split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count >= 2, parts[1].count == 3, parts[1].allSatisfy(isDigit) else { return false }
        let version = parts[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return version.count <= 2 && version.allSatisfy { $0.count == 1 && $0.allSatisfy(isDigit) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }
}
