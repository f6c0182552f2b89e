/// Finds boards that wait for each other in a circle (Behaviour A8).
enum BoardCircle {
    /// The shortest way from a board back to itself, it being first and last; nil when there is none.
    /// - Parameter following: the boards that one board waits for.
    static func path(from start: String, following next: (String) -> [String]) -> [String]? {
        var origins: [String: String] = [:]
        var frontier = [start]
        while !frontier.isEmpty {
            var reached: [String] = []
            for board in frontier {
                for after in next(board) {
                    if after == start { return way(to: board, from: start, origins) + [start] }
                    guard origins[after] == nil else { continue }
                    origins[after] = board
                    reached.append(after)
                }
            }
            frontier = reached
        }
        return nil
    }

    private static func way(to board: String, from start: String, _ origins: [String: String]) -> [String] {
        var way = [board]
        while let last = way.last, last != start, let origin = origins[last] { way.append(origin) }
        return way.reversed()
    }
}
