/// A piece of a regular expression.
indirect enum PatternNode {
    /// One character of a set.
    case character(CharacterSet)
    /// A place that has to be as it says, without taking a character.
    case place(PatternPlace)
    /// One after the other; none is the empty text.
    case sequence([PatternNode])
    /// One of several, at least one.
    case either([PatternNode])
    /// As often as the range allows; no upper end is without limit.
    case repeated(PatternNode, least: Int, most: Int?)
}

/// What a place in the text may have to be.
enum PatternPlace: Sendable, Equatable {
    case start
    case end
    /// Between a word's character and something else.
    case wordBoundary
    case noWordBoundary

    /// Whether the place between two characters is so; nil stands for an end of the text.
    func holds(between before: Unicode.Scalar?, and after: Unicode.Scalar?) -> Bool {
        switch self {
        case .start: before == nil
        case .end: after == nil
        case .wordBoundary: PatternPlace.isWord(before) != PatternPlace.isWord(after)
        case .noWordBoundary: PatternPlace.isWord(before) == PatternPlace.isWord(after)
        }
    }

    private static func isWord(_ scalar: Unicode.Scalar?) -> Bool {
        scalar.map { CharacterSet.word.contains($0, ignoreCase: false) } ?? false
    }
}
