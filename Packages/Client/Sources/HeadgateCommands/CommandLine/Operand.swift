/// What a command is given besides options.
struct Operand: Equatable, Sendable {
    /// How many there may be.
    enum Arity: Sendable {
        /// One.
        case one
        /// One or none.
        case optional
        /// Any number, also none.
        case any
        /// One or more.
        case some
    }

    /// What it is called in the help.
    let name: String
    /// How many there may be.
    let arity: Arity

    init(_ name: String, _ arity: Arity = .one) {
        self.name = name
        self.arity = arity
    }

    /// How it is written: `[ID …]`.
    var usage: String {
        switch arity {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name) …]"
        case .some: "\(name) …"
        }
    }
}
