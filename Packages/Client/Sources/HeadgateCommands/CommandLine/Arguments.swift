/// What a command was given.
struct Arguments: Equatable, Sendable {
    /// What is no option, in order.
    var operands: [String] = []
    /// The options that were given, with their last value; an empty one if they have none.
    var options: [String: String] = [:]

    /// Whether an option was given.
    func has(_ option: Option) -> Bool {
        options[option.name] != nil
    }

    /// The value of an option; nil if it was not given.
    func value(_ option: Option) -> String? {
        options[option.name]
    }
}
