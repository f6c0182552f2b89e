import HeadgateData

/// The barriers that settings put before boards, independent of how the boards are served (Behaviour A7).
public struct GatewayRules: Sendable, Equatable {
    /// True if a board may request to bypass its gateway.
    public var allowsBypass = true
    /// The rules for exact names.
    private var names = NameTable<Rule>()
    /// The rules for prefixes, the longest first.
    private var prefixes: [(pattern: GatewayPattern, rule: Rule)] = []

    /// The rule for the boards of a pattern.
    public enum Rule: Sendable, Equatable {
        /// The boards have this barrier.
        case barrier(ActivationBarrier)
        /// The boards have no gateway.
        case exempt

        fileprivate var barrier: ActivationBarrier? {
            if case .barrier(let barrier) = self { barrier } else { nil }
        }
    }

    public init(_ rules: [GatewayPattern: Rule] = [:], allowsBypass: Bool = true) {
        self.allowsBypass = allowsBypass
        for (pattern, rule) in rules {
            if pattern.isPrefix { prefixes.append((pattern, rule)) } else { names[pattern.text] = rule }
        }
        prefixes.sort { GatewayRules.precedes($0.pattern, $1.pattern) }
    }

    /// Returns the gateway before a board, or nil if there is none. A board is never its own barrier (Behaviour A8).
    public func barrier(before board: String) -> ActivationBarrier? {
        let rule = names[board] ?? prefixes.first { $0.pattern.matches(board) }?.rule
        guard let barrier = rule?.barrier, ExactName(barrier.board) != ExactName(board) else { return nil }
        return barrier
    }

    /// A cycle of gateways that wait for each other, independent of the served boards (Behaviour A8): the boards, with
    /// the first one repeated at the end; nil if there is none.
    public var cycle: [String]? {
        for board in barriers.map(\.board).sorted() {
            let next: (String) -> [String] = { barrier(before: $0).map { [$0.board] } ?? [] }
            if let cycle = BoardCycle.path(from: board, following: next) { return cycle }
        }
        return nil
    }

    private var barriers: [ActivationBarrier] {
        (names.map(\.value) + prefixes.map(\.rule)).compactMap(\.barrier)
    }

    private static func precedes(_ left: GatewayPattern, _ right: GatewayPattern) -> Bool {
        let (count, other) = (left.text.utf8.count, right.text.utf8.count)
        return count == other ? left.text < right.text : count > other
    }

    public static func == (left: GatewayRules, right: GatewayRules) -> Bool {
        left.allowsBypass == right.allowsBypass && left.names == right.names
            && left.prefixes.elementsEqual(right.prefixes, by: ==)
    }
}

/// The pattern of a gateway rule: a board's name, or a prefix followed by `*` (Behaviour A7).
public struct GatewayPattern: Hashable, Sendable {
    private let name: ExactName
    /// The pattern as written: `auth`, `shop.*`, `*`.
    public var text: String { name.text }

    /// Creates a pattern; nil if the text is neither a board's name nor a prefix followed by `*`.
    public init?(_ text: String) {
        let name = text.hasSuffix("*") ? String(text.dropLast()) : text
        guard name.isEmpty ? text == "*" : BoardName.problem(about: name) == nil else { return nil }
        self.name = ExactName(text)
    }

    var isPrefix: Bool { text.hasSuffix("*") }

    func matches(_ board: String) -> Bool {
        isPrefix ? board.utf8.starts(with: text.utf8.dropLast()) : ExactName(board) == ExactName(text)
    }
}
