import HeadgateData

/// An opening of an ActivationGate. The result of a batch sent under an earlier opening says nothing about this one
/// (Behaviour A9).
struct BoardOpening {
    var generation: Int
    /// The output of the board. It may contain secrets (Behaviour X4).
    var output: DataObject
}
