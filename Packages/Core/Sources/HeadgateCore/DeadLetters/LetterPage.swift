import HeadgateData

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

    /// An empty page.
    public init(newest: LetterNumber) {
        self.newest = newest
    }

    /// Takes the next letter in if it has room.
    /// - Returns: false when it has none; the letter is the first of the next page.
    public mutating func take(_ letter: StoredLetter, _ query: LetterQuery) -> Bool {
        let size = letter.letter.shownByteCount
        guard letters.isEmpty || (letters.count < query.limit && bytes + size <= PageLimit.bytes) else {
            next = letters.last?.number
            return false
        }
        letters.append(letter)
        bytes += size
        return true
    }
}

extension DeadLetter {
    /// How many bytes it takes in an answer, at most.
    fileprivate var shownByteCount: Int {
        var text = JSONWriter()
        if let answer { text.string(answer) }
        return record.count + text.bytes.count + DeadLetter.mostWords
    }

    /// The most bytes of all else that is told of a letter: names, numbers and times.
    private static let mostWords = 384
}
