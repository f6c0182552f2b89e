/// What something is, as far as it is known: one of these. A change that was answered well has been made; of one that failed, or that nobody
/// answered, nobody knows.
struct Perhaps<Value: Equatable> {
    /// Nil: there is none. All of them are different.
    private(set) var values: [Value?] = [nil]

    init() {}

    /// What was found is certain.
    init(_ found: Value?) {
        values = [found]
    }

    /// - Parameter isDone: whether it is known to have been made.
    mutating func change(_ isDone: Bool, _ body: (Value?) -> Value?) {
        // Most become the same.
        var changed: [Value?] = []
        for value in values.lazy.map(body) where !changed.contains(value) { changed.append(value) }
        values = isDone ? changed : values + changed.filter { !values.contains($0) }
    }

    func mayBe(_ value: Value?) -> Bool { values.contains(value) }

    /// Whether it is known that there is one.
    var isThere: Bool { !values.contains(nil) }
}
