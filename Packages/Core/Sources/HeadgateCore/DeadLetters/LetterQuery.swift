/// Counts a store's dead letters; they only grow and are never used twice.
public typealias LetterNumber = Int64

/// Which dead letters are meant, and how many of them (Behaviour D10).
public struct LetterQuery: Sendable, Equatable {
    /// Those of one dispatcher; nil is of all.
    public var dispatcher: DispatcherNumber?
    /// Those of these numbers, where they are there; nil is any.
    public var letters: Set<LetterNumber>?
    /// Those behind this one.
    public var after: LetterNumber = 0
    /// Those up to and including this one.
    public var through: LetterNumber = .max
    /// No more than so many; at least one.
    public var limit: Int

    public init(dispatcher: DispatcherNumber? = nil, letters: Set<LetterNumber>? = nil, limit: Int) {
        self.dispatcher = dispatcher
        self.letters = letters
        self.limit = limit
    }

    /// Whether a letter is meant, but for the limit.
    public func includes(_ letter: StoredLetter) -> Bool {
        letter.number > after && letter.number <= through
            && dispatcher.map { $0 == letter.letter.dispatcher } ?? true
            && letters.map { $0.contains(letter.number) } ?? true
    }
}
