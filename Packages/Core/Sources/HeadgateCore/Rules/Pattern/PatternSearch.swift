/// One search for a pattern: the places in its program that the text read so far leads to, each once.
struct PatternSearch {
    private let program: PatternProgram
    private var stepsLeft: Int
    /// Places that wait for a character.
    private var waiting: [Int] = []
    /// Places that waited for the character before; kept for its room only.
    private var served: [Int] = []
    /// Places to go on from; empty between calls, and kept for its room only.
    private var open: [Int] = []
    /// At which character each place was reached last.
    private var reached: [Int]
    private var isFound = false

    init(_ program: PatternProgram, mostSteps: Int) {
        self.program = program
        stepsLeft = mostSteps
        reached = [Int](repeating: -1, count: program.instructions.count)
    }

    /// Whether the pattern is found in the text; nil when that takes too many steps.
    mutating func run(_ text: String) -> Bool? {
        var before: Unicode.Scalar?
        var position = 0
        for scalar in text.unicodeScalars {
            advance(over: before, to: scalar, position)
            if isFound { return true }
            guard stepsLeft > 0 else { return nil }
            before = scalar
            position += 1
        }
        advance(over: before, to: nil, position)
        return isFound
    }

    /// Moves on over one character, and begins anew behind it.
    private mutating func advance(over taken: Unicode.Scalar?, to next: Unicode.Scalar?, _ position: Int) {
        swap(&waiting, &served)
        waiting.removeAll(keepingCapacity: true)
        if let taken {
            for place in served where accepts(place, taken) { follow(place + 1, taken, next, position) }
        }
        follow(0, taken, next, position)
    }

    private func accepts(_ place: Int, _ scalar: Unicode.Scalar) -> Bool {
        guard case .character(let set) = program.instructions[place] else { return false }
        return set.contains(scalar, ignoreCase: program.ignoreCase)
    }

    /// Goes on from a place until characters are needed.
    private mutating func follow(
        _ start: Int, _ before: Unicode.Scalar?, _ after: Unicode.Scalar?, _ position: Int
    ) {
        open.append(start)
        while let place = open.popLast() {
            guard reached[place] != position else { continue }
            reached[place] = position
            stepsLeft -= 1
            switch program.instructions[place] {
            case .character: waiting.append(place)
            case .place(let condition): if condition.holds(between: before, and: after) { open.append(place + 1) }
            case .fork(let first, let second):
                open.append(second)
                open.append(first)
            case .jump(let target): open.append(target)
            case .found: isFound = true
            }
        }
    }
}
