/// The place of a dispatch in the order of acceptance. Numbers only grow and are never used twice; there may be gaps.
public typealias SequenceNumber = Int64
