/// A dead letter under the number that its store gave it.
public struct StoredLetter: Sendable, Equatable {
    public var number: LetterNumber
    public var letter: DeadLetter

    public init(number: LetterNumber, letter: DeadLetter) {
        self.number = number
        self.letter = letter
    }
}

/// Some dead letters, the oldest first: as many as were asked for, or fewer where they are large.
public struct LetterPage: Sendable, Equatable {
    public private(set) var letters: [StoredLetter] = []
    /// Behind which letter there are more; nil when these are all.
    public private(set) var next: LetterNumber?
    /// The newest number that the store has given.
    public var newest: LetterNumber
    private var bytes = 0

    /// A page ends with the letter that makes it this large, so that neither memory nor an answer grows without end.
    private static let mostBytes = 512 << 10

    /// An empty page.
    public init(newest: LetterNumber) {
        self.newest = newest
    }

    /// Takes the next letter in if it has room.
    /// - Returns: false when it has none; the letter is the first of the next page.
    public mutating func take(_ letter: StoredLetter, _ query: LetterQuery) -> Bool {
        guard letters.count < query.limit, bytes < LetterPage.mostBytes else {
            next = letters.last?.number
            return false
        }
        letters.append(letter)
        bytes += letter.letter.record.count + (letter.letter.answer?.utf8.count ?? 0)
        return true
    }
}
