import HeadgateData

@testable import HeadgateCore

/// Times and numbers as text. An accepted text must have one canonical form, which parses to the same value.
enum TimesTarget {
    /// The first byte selects the kind of the rest.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        switch input.number(below: 3) {
        case 0: moment(input.remainder())
        case 1: date(input.integer(Int32.self))
        default: numbers(&input)
        }
        return 0
    }

    private static func moment(_ bytes: [UInt8]) {
        guard let moment = bytes.withUnsafeBytes(Timestamp.init(rfc3339:)) else { return }
        precondition(Timestamp.expressible.contains(moment))
        precondition(Timestamp(rfc3339: moment.text) == moment, "\(moment.text) reads as another")
        let isOurForm = bytes.count == 24 && bytes[10] == UInt8(ascii: "T") && bytes[23] == UInt8(ascii: "Z")
        let isLeapSecond = bytes[17] == UInt8(ascii: "6")
        precondition(!isOurForm || isLeapSecond || Array(moment.text.utf8) == bytes, "\(moment.text)")
    }

    private static func date(_ days: Int32) {
        let date = CivilDate(daysSince1970: Int(days))
        precondition(date.daysSince1970 == Int(days))
        precondition(CivilDate(year: date.year, month: date.month, day: date.day) == date)
        let next = CivilDate(daysSince1970: Int(days) + 1)
        precondition(next.weekday == (date.weekday + 1) % 7)
        precondition((next.year, next.month, next.day) > (date.year, date.month, date.day))
    }

    /// Checks that exactly one of <, == and > holds, and that it agrees with integer comparison if both are integers.
    private static func numbers(_ input: inout FuzzInput) {
        guard case .number(let one)? = try? DataItem(parsing: input.bytes(upTo: "\n")),
            case .number(let other)? = try? DataItem(parsing: input.remainder())
        else { return }
        let (left, right) = (NumericValue(one), NumericValue(other))
        precondition([left < right, left == right, left > right].filter(\.self).count == 1, "\(one) and \(other)")
        precondition(ExactDecimal(one) == ExactDecimal(one) && !(ExactDecimal(one) < ExactDecimal(one)))
        if let first = one.int, let second = other.int {
            precondition((left < right) == (first < second) && (left == right) == (first == second))
        }
        if let first = one.double, let second = other.double, first < second {
            precondition(left < right, "\(one) and \(other)")
        }
    }
}
