import HeadgateData

/// The served boards with the processes that serve them.
struct Boards {
    private var served = NameTable<Board>()
    private var chosen = 0

    private struct Board {
        var serving: BoardServing
        /// The number of the last choice of each process, by the process's connection.
        var providers: [Int: Int]
    }

    var isEmpty: Bool { served.isEmpty }
    /// The names in alphabetical order.
    var names: [String] { served.keys.sorted() }

    /// Returns how a board is served, or nil if it is not served.
    func serving(_ board: String) -> BoardServing? {
        served[board]?.serving
    }

    /// Returns true if another process serves the board with different settings.
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

    /// Returns the process to ask next: the one with the fewest open runs, and of several the one that was asked
    /// longest ago.
    /// - Parameter load: returns the number of a process's open runs.
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

/// The rules for names of boards.
public enum BoardName {
    /// The longest name in bytes.
    public static let longest = 128

    /// Returns the problem with a name, or nil if the name is valid. The `*` is reserved for gateway patterns.
    public static func problem(about name: String) -> String? {
        let isAllowed = name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "*" }
        if (1...longest).contains(name.utf8.count), isAllowed { return nil }
        return "must have 1 to \(longest) bytes, no * and no control characters"
    }
}

/// The settings with which a process serves a board.
public struct BoardServing: Sendable, Equatable {
    /// The activation barrier of the board (Behaviour A2).
    public var barrier: OwnBarrier
    /// True if the process requests that no gateway stand before the board (Behaviour A7).
    public var bypassesGateway: Bool

    /// The activation barrier that a board has besides its gateway.
    public enum OwnBarrier: Sendable, Equatable {
        /// The same barrier for every activation; nil if there is none.
        case fixed(ActivationBarrier?)
        /// The board's process chooses a barrier, or none, for each activation from its input.
        case chosen
    }

    public init(_ barrier: OwnBarrier, bypassesGateway: Bool = false) {
        self.barrier = barrier
        self.bypassesGateway = bypassesGateway
    }

    public init(barrier: ActivationBarrier? = nil, bypassesGateway: Bool = false) {
        self.init(.fixed(barrier), bypassesGateway: bypassesGateway)
    }

    /// The barrier that every activation has; nil if there is none, or if it is chosen for each activation.
    var fixedBarrier: ActivationBarrier? {
        if case .fixed(let barrier) = barrier { barrier } else { nil }
    }
}

/// The reason why a process may not serve a board.
public enum ServingRefusal: Error, Sendable, Equatable {
    /// Other processes serve the board with another barrier or bypass setting.
    case differs
    /// Boards would wait for each other in this cycle (Behaviour A8).
    case cycle([String])
    /// The connection serves the most boards that it may.
    case tooMany(Int)
}

/// The search for cycles of boards that wait for each other (Behaviour A8).
enum BoardCycle {
    /// Returns the shortest path from a board back to itself, with the board at both ends, or nil if there is none.
    /// - Parameter next: returns the boards that a board waits for.
    static func path(from start: String, following next: (String) -> [String]) -> [String]? {
        var origins = NameTable<String>()
        var frontier = [start]
        while !frontier.isEmpty {
            var reached: [String] = []
            for board in frontier {
                for after in next(board) {
                    if ExactName(after) == ExactName(start) { return path(to: board, from: start, origins) + [start] }
                    guard origins[after] == nil else { continue }
                    origins[after] = board
                    reached.append(after)
                }
            }
            frontier = reached
        }
        return nil
    }

    private static func path(to board: String, from start: String, _ origins: NameTable<String>) -> [String] {
        var path = [board]
        while let last = path.last, ExactName(last) != ExactName(start), let origin = origins[last] {
            path.append(origin)
        }
        return path.reversed()
    }
}

/// A type that activates boards for dispatchers (Behaviour A9). It lives on the scheduler.
public protocol BoardActivator: AnyObject {
    /// Activates a board. There is no time limit for a process to serve it.
    /// - Parameter then: gets the outcome, after the function has returned. It is not called after the result is
    ///   disposed, which cancels the activation.
    func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable
    /// Returns true if a process serves the board.
    func isServed(_ board: String) -> Bool
    /// An observable that emits each time that a process begins or ceases to serve a board.
    var servingChanges: Observable<Void> { get }
}
