/// What one connection has to do with activations. It dies with the connection.
struct ActivationPeer {
    /// The boards that it serves.
    var boards: Set<String> = []
    /// The activations that it asked for.
    var activations: Set<Int> = []
    /// The answers that it owes.
    var runs: Set<Int> = []

    var isEmpty: Bool { boards.isEmpty && activations.isEmpty && runs.isEmpty }
}
