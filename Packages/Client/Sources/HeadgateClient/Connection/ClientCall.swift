/// The number of a call and the id of its request. Later calls have greater numbers.
typealias CallNumber = Int64

/// A call that has not ended.
public struct ClientCall: Hashable, Sendable {
    let number: CallNumber
}
