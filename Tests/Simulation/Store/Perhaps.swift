/// A value that may be uncertain: one of several candidates. A confirmed change was made; a change that failed, or was
/// not answered, may have been made.
struct Perhaps<Value: Equatable> {
    /// The candidates, all different. Nil stands for no value.
    private(set) var values: [Value?] = [nil]

    init() {}

    /// Creates a certain value.
    init(_ found: Value?) {
        values = [found]
    }

    /// Applies a change to the candidates.
    /// - Parameter isDone: True if the change was certainly made.
    mutating func change(_ isDone: Bool, _ body: (Value?) -> Value?) {
        // Many changes lead to the same value.
        var changed: [Value?] = []
        for value in values.lazy.map(body) where !changed.contains(value) { changed.append(value) }
        values = isDone ? changed : values + changed.filter { !values.contains($0) }
    }

    func mayBe(_ value: Value?) -> Bool { values.contains(value) }

    /// True if there certainly is a value.
    var isThere: Bool { !values.contains(nil) }
}
