import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// The parts of HTTP answers that Headgate parses itself: the meaning of a status, the wait, and an excerpt of the
/// body, which must not contain a secret.
enum AnswersTarget {
    /// The first byte selects the part.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        switch input.number(below: 4) {
        case 0: status(&input)
        case 1: wait(&input)
        case 2: date(&input)
        default: excerpt(&input)
        }
        return 0
    }

    // MARK: Status

    private static func status(_ input: inout FuzzInput) {
        var policy = HTTPAnswerPolicy()
        policy.onUnauthorized = input.bool() ? .pause : .dead
        let status = Int(input.integer(UInt16.self) % 1000)
        let other = Int(input.integer(UInt16.self) % 1000)
        policy.retryForStatusCodes = [other: input.bool()]
        let refusal = policy.refusal(status: status)
        precondition(refusal.isCharged != [408, 413, 429, 502, 503, 504].contains(status))
        precondition(refusal.isUnauthorized == (status == 401))
        if let isRetried = policy.retryForStatusCodes[status] {
            precondition(refusal.meaning == (isRetried ? .again : .never))
        } else if ![400, 401, 403, 410, 413, 422].contains(status) {
            precondition(refusal.meaning == .again)
        }
    }

    // MARK: Waits

    private static let now = Timestamp(milliseconds: 1_800_000_000_500)

    private static func wait(_ input: inout FuzzInput) {
        let header = String(decoding: input.remainder().prefix { $0 != 0 }, as: UTF8.self)
        guard let wait = RetryAfter.wait(header, at: now) else { return }
        precondition(wait >= .zero, "a wait of \(wait)")
        _ = wait.wholeNanoseconds
        if let seconds = Int64(header), header.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            precondition(wait == .seconds(seconds))
        }
    }

    /// A date in a server's format must parse to the same date (RFC 9110, 5.6.7).
    private static func date(_ input: inout FuzzInput) {
        let days = Int(input.integer(UInt32.self) % 40_000) + 1
        let time = Int(input.integer(UInt32.self) % 86_400)
        let date = CivilDate(daysSince1970: days)
        let parts = [time / 3600, time / 60 % 60, time % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        let header =
            "\(weekdays[date.weekday]), \(date.day < 10 ? "0" : "")\(date.day) \(months[date.month - 1]) \(date.year) "
            + parts.joined(separator: ":") + " GMT"
        let wait = RetryAfter.wait(header, at: Timestamp(milliseconds: 0))
        precondition(wait == .seconds(days * 86_400 + time), "\(header) is \(wait.map { "\($0)" } ?? "nothing")")
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    // MARK: Excerpts

    private static func excerpt(_ input: inout FuzzInput) {
        let limit = input.number(below: 64)
        let isCut = input.bool()
        let value = String(decoding: input.bytes(input.number(below: 24)), as: UTF8.self)
        let secrets = HeaderSecrets.forms(of: value).filter { !$0.isEmpty }
        let mask = SecretMask(secrets)
        let body = input.remainder()
        let excerpt = mask.excerpt(of: body, isCut: isCut, limit: limit)
        precondition(excerpt.utf8.count <= 3 * limit, "longer than asked")
        guard let secret = secrets.first(where: { excerpt.utf8.contains($0.utf8) }) else { return }
        // The replacement for a secret, or for invalid UTF-8, may itself equal a secret.
        let isMark = secret.unicodeScalars.contains { $0 == "*" || $0 == "\u{FFFD}" }
        precondition(isMark, "`\(secret)` is left in `\(excerpt)`")
    }
}

extension String.UTF8View {
    /// True if the bytes contain `other`.
    fileprivate func contains(_ other: String.UTF8View) -> Bool {
        let (bytes, expected) = (Array(self), Array(other))
        guard expected.count <= bytes.count else { return false }
        return (0...bytes.count - expected.count).contains { bytes[$0...].starts(with: expected) }
    }
}
