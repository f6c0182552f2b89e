import HeadgateData

/// The barriers that settings put before boards, whatever these say of themselves (Behaviour A7).
public struct GatewayRules: Sendable, Equatable {
    /// Whether a board may ask that none stand before it.
    public var allowsBypass = true
    /// Exact names.
    private var names = NameTable<Rule>()
    /// Prefixes, the longest first.
    private var prefixes: [(pattern: GatewayPattern, rule: Rule)] = []

    /// What is before the boards of a pattern.
    public enum Rule: Sendable, Equatable {
        /// This barrier.
        case barrier(ActivationBarrier)
        /// None.
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

    /// The gateway before a board; nil when there is none. A barrier's own board is never held by itself (Behaviour A8).
    public func barrier(before board: String) -> ActivationBarrier? {
        let rule = names[board] ?? prefixes.first { $0.pattern.matches(board) }?.rule
        guard let barrier = rule?.barrier, ExactName(barrier.board) != ExactName(board) else { return nil }
        return barrier
    }

    /// Gateways that are before each other in a circle, whatever boards there are (Behaviour A8): the boards, the first
    /// one again at the end; nil when there are none.
    public var circle: [String]? {
        for board in barriers.map(\.board).sorted() {
            let next: (String) -> [String] = { barrier(before: $0).map { [$0.board] } ?? [] }
            if let circle = BoardCircle.path(from: board, following: next) { return circle }
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

/// The boards that a gateway rule is for: a name, or a prefix and `*` (Behaviour A7).
public struct GatewayPattern: Hashable, Sendable {
    private let name: ExactName
    /// As it was written: `auth`, `shop.*`, `*`.
    public var text: String { name.text }

    /// Nil when it is neither a board's name nor a prefix of one with a `*` behind it.
    public init?(_ text: String) {
        let name = text.hasSuffix("*") ? String(text.dropLast()) : text
        guard name.isEmpty ? text == "*" : BoardName.complaint(about: name) == nil else { return nil }
        self.name = ExactName(text)
    }

    var isPrefix: Bool { text.hasSuffix("*") }

    func matches(_ board: String) -> Bool {
        isPrefix ? board.utf8.starts(with: text.utf8.dropLast()) : ExactName(board) == ExactName(text)
    }
}
