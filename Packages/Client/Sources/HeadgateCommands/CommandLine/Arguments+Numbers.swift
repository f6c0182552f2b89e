import HeadgateData

extension Arguments {
    /// The value of an option that is a whole number; nil if it was not given.
    func number(_ option: Option, from least: Int, of command: String) throws(UsageError) -> DataItem? {
        guard let text = value(option) else { return nil }
        return try Arguments.number(text, from: least, as: option.name, of: command)
    }

    /// The operands as whole numbers, from 1.
    func numbers(as name: String, of command: String) throws(UsageError) -> [DataItem] {
        var numbers: [DataItem] = []
        for text in operands { numbers.append(try Arguments.number(text, from: 1, as: name, of: command)) }
        return numbers
    }

    private static func number(
        _ text: String, from least: Int, as name: String, of command: String
    ) throws(UsageError) -> DataItem {
        guard let number = Int(text), number >= least else {
            throw UsageError(
                message: "\(command): \(name) \(text) is not a whole number from \(least)", command: command)
        }
        return .number(DataNumber(number))
    }
}
