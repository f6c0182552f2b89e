/// A built-in barrier with a reason word of its own (Behaviour B10).
protocol WordedBarrier: Barrier {
    /// One word that says why events wait.
    static var word: String { get }
}

extension Barrier {
    /// The barrier's word for why events wait; nil: its id will do.
    var word: String? {
        (self as? any WordedBarrier).map { type(of: $0).word }
    }
}
