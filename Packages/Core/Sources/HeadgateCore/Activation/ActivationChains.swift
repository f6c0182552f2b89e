/// The chains of activations and cycles that wait for each other (Behaviour A8), read from the tables of
/// ``ActivationMachine``.
struct ActivationChains {
    let activations: [Int: Activation]
    let cycles: [Int: Cycle]
    let peers: [Int: ActivationPeer]

    /// Returns a cycle, the cycle that it waits for, and so on, up to the last one or to `end`.
    func chain(from cycle: Int, to end: Int? = nil) -> [Int] {
        var chain = [cycle]
        while let last = chain.last, last != end, case .held(let next)? = activations[last]?.stage {
            // The waiters of a cycle that has just ended may not have continued yet.
            guard cycles[next] != nil else { break }
            chain.append(next)
        }
        return chain
    }

    /// Returns the paths to an activation. Each path begins with a requested activation and leads over cycles to `id`.
    func paths(to id: Int, and on: [Int] = []) -> [[Int]] {
        guard let activation = activations[id] else { return [] }
        guard activation.purpose == .cycle else { return [[id] + on] }
        return cycles[id]?.waiters.flatMap { paths(to: $0.activation, and: [id] + on) } ?? []
    }

    /// Returns the boards of activations.
    func boards(of ids: [Int]) -> [String] {
        ids.compactMap { activations[$0]?.request.board }
    }

    /// Returns true if the run of the last barrier in `ahead` requested the activation `root`.
    ///
    /// A program that embeds the server names the run itself (`within`). For a client, only the connection is known. A
    /// process that runs a barrier and activates a board behind it is assumed to do so within that run. If another
    /// activation of the process already waits for the run, the process does several things at once, and its activation
    /// joins like any other (Behaviour A4).
    func isWithinRun(_ root: Int, of ahead: [Int]) -> Bool {
        guard let request = activations[root]?.request, let last = ahead.last else { return false }
        if let within = request.within { return ahead.contains(within) }
        guard let client = request.client, case .running(_, client)? = activations[last]?.stage else { return false }
        return peers[client]?.activations.contains { $0 != root && isHeld($0, by: ahead) } != true
    }

    private func isHeld(_ id: Int, by ahead: [Int]) -> Bool {
        guard case .held(let cycle)? = activations[id]?.stage else { return false }
        return chain(from: cycle).contains { ahead.contains($0) }
    }
}
