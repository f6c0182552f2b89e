/// A check of an answer's head, line by line, where libcurl is too lenient. libcurl accepts a head that breaks off, and
/// any line that begins with `HTTP/` as a status line. It also reports a status for an answer that it has refused.
struct AnswerHead {
    /// True if an answer has begun, and each of its heads begins with a valid status line.
    var isSound: Bool { hasBegun && !isBroken }

    private var hasBegun = false
    private var isBroken = false
    private var isWhole = false

    /// The reason why the answer is incomplete, or nil once its head is complete.
    var fault: String? { isWhole ? nil : "answer cut short" }

    /// Checks a line, given with its line end. The final head may follow heads of interim answers, and a trailer may
    /// follow the body.
    mutating func take(_ line: UnsafeRawBufferPointer) {
        let text = AnswerHead.withoutEnd(line)
        // libcurl accepts any line that begins with a line end as the blank line.
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

    /// Returns true for a status line like `HTTP/1.1 200 OK` or `HTTP/2 200` (RFC 9112, 4).
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
