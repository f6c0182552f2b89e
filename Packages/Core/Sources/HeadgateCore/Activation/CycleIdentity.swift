import HeadgateData

/// Which cycle of a barrier somebody belongs to (Behaviour A3): of those who come with the same identity, the first starts
/// the barrier and the others join it.
struct CycleIdentity: Hashable {
    let board: String
    private let variant: Variant
    /// Nil where the cycle is the whole service's.
    private let mainboard: String?

    private enum Variant: Hashable {
        case shared
        case input(CanonicalJSON)
        case own(activation: Int)
    }

    /// The identity of a barrier before one activation.
    init(_ barrier: ActivationBarrier, before activation: Activation) {
        board = barrier.board
        mainboard = barrier.scope == .main ? activation.request.mainboard : nil
        switch barrier.option {
        case .void: variant = .shared
        case .unique: variant = .input(CanonicalJSON(activation.request.input))
        case .each: variant = .own(activation: activation.id)
        }
    }

    /// Roughly the bytes that it takes to remember it.
    var weight: Int {
        guard case .input(let input) = variant else { return CycleIdentity.usualWeight }
        return CycleIdentity.usualWeight + input.bytes.count
    }

    /// Whether it means anything to others: a cycle of one activation's own does not.
    var isShared: Bool {
        if case .own = variant { false } else { true }
    }

    private static let usualWeight = 256
}
