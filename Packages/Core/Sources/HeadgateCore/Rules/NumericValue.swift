import HeadgateData

/// A JSON number that is compared by its exact value, however it is spelt: `100`, `1e2` and `100.0` are equal, and no digit
/// is lost to rounding.
struct NumericValue: Sendable {
    private let number: DataNumber
    /// The value where it is a plain whole number of usual size, as most are.
    private let whole: Int?

    init(_ number: DataNumber) {
        self.number = number
        whole = Int(number.text)
    }
}

extension NumericValue: Comparable {
    static func == (left: NumericValue, right: NumericValue) -> Bool {
        if let left = left.whole, let right = right.whole { return left == right }
        return ExactDecimal(left.number) == ExactDecimal(right.number)
    }

    static func < (left: NumericValue, right: NumericValue) -> Bool {
        if let left = left.whole, let right = right.whole { return left < right }
        return ExactDecimal(left.number) < ExactDecimal(right.number)
    }
}

/// How a number may stand to another.
enum NumberRelation: Sendable {
    case equal
    case greater
    case greaterOrEqual
    case less
    case lessOrEqual

    /// Whether `number` is equal to, greater or less than `wanted`.
    func holds(_ number: NumericValue, _ wanted: NumericValue) -> Bool {
        switch self {
        case .equal: number == wanted
        case .greater: number > wanted
        case .greaterOrEqual: number >= wanted
        case .less: number < wanted
        case .lessOrEqual: number <= wanted
        }
    }
}
