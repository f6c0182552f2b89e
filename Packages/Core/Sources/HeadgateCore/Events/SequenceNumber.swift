/// The position of an event in the order of acceptance. Numbers only grow and are never reused. There may be gaps.
public typealias SequenceNumber = Int64
