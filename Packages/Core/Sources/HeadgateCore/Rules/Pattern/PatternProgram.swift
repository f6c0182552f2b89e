/// A regular expression as a list of instructions.
struct PatternProgram: Sendable, Equatable {
    /// What is to be done; numbers are places in the list.
    enum Instruction: Sendable, Equatable {
        /// Take a character of a set and go on behind.
        case character(CharacterSet)
        /// Go on behind if the place is so.
        case place(PatternPlace)
        /// Go on at both.
        case fork(Int, Int)
        /// Go on there.
        case jump(Int)
        /// The pattern is found.
        case found
    }

    private(set) var instructions: [Instruction] = []
    let ignoreCase: Bool
    private var visits = 0

    /// The most instructions, and the most pieces looked at on the way to them.
    private static let mostInstructions = 4096

    init(_ node: PatternNode, ignoreCase: Bool) throws(PatternFault) {
        self.ignoreCase = ignoreCase
        try add(node)
        instructions.append(.found)
    }

    private mutating func add(_ node: PatternNode) throws(PatternFault) {
        visits += 1
        guard max(visits, instructions.count) <= PatternProgram.mostInstructions else {
            throw PatternFault("is too large")
        }
        switch node {
        case .character(let set): instructions.append(.character(set))
        case .place(let place): instructions.append(.place(place))
        case .sequence(let nodes): for node in nodes { try add(node) }
        case .either(let nodes): try add(either: nodes[...])
        case .repeated(let node, let least, let most): try add(node, least: least, most: most)
        }
    }

    private mutating func add(either nodes: ArraySlice<PatternNode>) throws(PatternFault) {
        var ends: [Int] = []
        for node in nodes.dropLast() {
            let fork = reserve()
            try add(node)
            ends.append(reserve())
            instructions[fork] = .fork(fork + 1, instructions.count)
        }
        for node in nodes.suffix(1) { try add(node) }
        for end in ends { instructions[end] = .jump(instructions.count) }
    }

    private mutating func add(_ node: PatternNode, least: Int, most: Int?) throws(PatternFault) {
        for _ in 0..<least { try add(node) }
        guard let most else { return try add(anyTimes: node) }
        var forks: [Int] = []
        for _ in least..<most {
            forks.append(reserve())
            try add(node)
        }
        for fork in forks { instructions[fork] = .fork(fork + 1, instructions.count) }
    }

    private mutating func add(anyTimes node: PatternNode) throws(PatternFault) {
        let fork = reserve()
        try add(node)
        instructions.append(.jump(fork))
        instructions[fork] = .fork(fork + 1, instructions.count)
    }

    /// Makes room for an instruction that is known later.
    private mutating func reserve() -> Int {
        instructions.append(.found)
        return instructions.count - 1
    }
}
