import HeadgateData

/// Some dead letters, the oldest first (Protocol, `dead_letters.list`).
public struct DeadLetterPage: Sendable, Equatable {
    /// The letters.
    public let letters: [ListedDeadLetter]
    /// What to give as `after` for those behind them; nil when these are all.
    public let next: Int?

    /// Reads the result of `dead_letters.list`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let entries = result.get(key: "dead_letters", as: [DataObject].self) else {
            throw .badAnswer("a result of dead_letters.list without dead_letters")
        }
        letters = entries.map(ListedDeadLetter.init)
        next = result.get(key: "next")
    }
}
