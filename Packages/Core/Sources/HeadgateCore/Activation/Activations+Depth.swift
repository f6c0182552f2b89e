/// How deep boards wait for each other (Behaviour A8). That is each activation's own matter: one that would wait too deep, or
/// for itself, fails alone, and the cycles that it shares with others go on for these.
extension Activations {
    /// The depth at which a barrier stands when an activation waits for it. Those who wait for the activation, and for whom
    /// that is too deep, end.
    /// - Parameter cycle: the barrier's cycle under way; nil where one is about to begin.
    /// - Returns: nil when nobody is left who wants the barrier.
    mutating func depth(of id: Int, waitingFor board: String, _ cycle: Int?) -> Int? {
        guard let activation = activations[id] else { return nil }
        let ahead = cycle.map { chain(from: $0, to: id) } ?? []
        let isCircle = ahead.last == id
        let deepest = isCircle ? -1 : limits.depth - max(ahead.count, 1)
        if activation.depth <= deepest { return activation.depth + 1 }
        let boards = ahead.isEmpty ? [board] : self.boards(of: ahead)
        var depth: Int?
        for way in ways(to: id) {
            if way.count - 1 <= deepest { depth = max(depth ?? 0, way.count) } else { fail(way, before: boards) }
        }
        return depth
    }

    /// Somebody waits at this depth for a cycle, and so for all that it waits for.
    mutating func deepen(_ cycle: Int, to depth: Int) {
        for (place, id) in chain(from: cycle).enumerated() {
            guard let known = activations[id]?.depth, known < depth + place else { continue }
            activations[id]?.depth = depth + place
        }
    }

    /// A cycle, the one that it waits for, and so on: to the last, or to this one.
    private func chain(from cycle: Int, to end: Int? = nil) -> [Int] {
        var chain = [cycle]
        while let last = chain.last, last != end, case .held(let next)? = activations[last]?.stage {
            // Where one has just ended those who waited for it may not have gone on yet.
            guard cycles[next] != nil else { break }
            chain.append(next)
        }
        return chain
    }

    /// The ways to an activation: each from one that somebody asked for, over the cycles between, to it.
    private func ways(to id: Int, and on: [Int] = []) -> [[Int]] {
        guard let activation = activations[id] else { return [] }
        guard activation.purpose == .cycle else { return [[id] + on] }
        return cycles[id]?.waiters.flatMap { ways(to: $0.activation, and: [id] + on) } ?? []
    }

    /// Tells the boards from the activated one to the first that is too deep, or comes again.
    private mutating func fail(_ way: [Int], before ahead: [String]) {
        let boards = boards(of: way)
        let count = ahead.firstIndex(where: boards.contains).map { $0 + 1 } ?? ahead.count
        end(way[0], .circle(Array((boards + ahead.prefix(count)).prefix(limits.depth + 2))))
    }

    private func boards(of activations: [Int]) -> [String] {
        activations.compactMap { self.activations[$0]?.request.board }
    }
}
