import HeadgateData

/// The boards that are served, and by which processes.
struct Boards {
    private var served = NameTable<Board>()
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

/// What may name a board.
public enum BoardName {
    /// The most bytes that a name may have.
    public static let longest = 128

    /// What is wrong with a name; nil when it will do. The `*` is left to the gateways' patterns.
    public static func complaint(about name: String) -> String? {
        let isAllowed = name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "*" }
        if (1...longest).contains(name.utf8.count), isAllowed { return nil }
        return "a board's name has 1 to \(longest) bytes, no * and no control characters"
    }
}

/// How a process serves a board.
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

/// Why a process may not serve a board.
public enum ServingRefusal: Error, Sendable, Equatable {
    /// Others serve the board, and said something else of its barrier or its gateway.
    case differs
    /// The boards would wait for each other in this circle (Behaviour A8).
    case circle([String])
    /// The connection serves as many boards as it may.
    case tooMany(Int)
}

/// Finds boards that wait for each other in a circle (Behaviour A8).
enum BoardCircle {
    /// The shortest way from a board back to itself, it being first and last; nil when there is none.
    /// - Parameter following: the boards that one board waits for.
    static func path(from start: String, following next: (String) -> [String]) -> [String]? {
        var origins = NameTable<String>()
        var frontier = [start]
        while !frontier.isEmpty {
            var reached: [String] = []
            for board in frontier {
                for after in next(board) {
                    if ExactName(after) == ExactName(start) { return way(to: board, from: start, origins) + [start] }
                    guard origins[after] == nil else { continue }
                    origins[after] = board
                    reached.append(after)
                }
            }
            frontier = reached
        }
        return nil
    }

    private static func way(to board: String, from start: String, _ origins: NameTable<String>) -> [String] {
        var way = [board]
        while let last = way.last, ExactName(last) != ExactName(start), let origin = origins[last] {
            way.append(origin)
        }
        return way.reversed()
    }
}

/// Activates boards for dispatchers (Behaviour A9). It lives on the scheduler.
public protocol BoardActivator: AnyObject {
    /// Activates a board, waiting for it to be served as long as it takes.
    /// - Parameter then: told once what came of it, never before this returns, and not at all once the result is disposed
    ///   of, which gives the activation up.
    func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable
    /// Whether anybody serves a board.
    func isServed(_ board: String) -> Bool
    /// Tells each time that a process begins or ends to serve a board.
    var servingChanges: Observable<Void> { get }
}
