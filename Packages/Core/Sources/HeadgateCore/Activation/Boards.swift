/// The boards that are served, and by which processes.
struct Boards {
    private var served: [String: Board] = [:]
    private var chosen = 0

    private struct Board {
        var serving: BoardServing
        /// By the processes' connections: when each was chosen last.
        var providers: [Int: Int]
    }

    var isEmpty: Bool { served.isEmpty }
    /// The names, in alphabetical order.
    var names: [String] { served.keys.sorted() }

    /// How a board is served; nil when it is not.
    func serving(_ board: String) -> BoardServing? {
        served[board]?.serving
    }

    /// Whether somebody else than this process serves a board otherwise.
    func differs(_ board: String, from serving: BoardServing, besides provider: Int) -> Bool {
        guard let present = served[board], present.serving != serving else { return false }
        return present.providers.keys.contains { $0 != provider }
    }

    mutating func add(_ board: String, _ serving: BoardServing, by provider: Int) {
        served[board, default: Board(serving: serving, providers: [:])].serving = serving
        served[board]?.providers[provider, default: 0] += 0
    }

    mutating func remove(_ board: String, by provider: Int) {
        served[board]?.providers[provider] = nil
        if served[board]?.providers.isEmpty == true { served[board] = nil }
    }

    /// The process to ask next: one with the least to do, of these the one that was asked longest ago.
    /// - Parameter load: how many answers a process owes.
    mutating func choose(for board: String, load: (Int) -> Int) -> Int? {
        let ranked = served[board]?.providers.min { left, right in
            (load(left.key), left.value, left.key) < (load(right.key), right.value, right.key)
        }
        guard let provider = ranked?.key else { return nil }
        chosen += 1
        served[board]?.providers[provider] = chosen
        return provider
    }
}
