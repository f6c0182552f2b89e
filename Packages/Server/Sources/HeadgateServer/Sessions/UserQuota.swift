import HeadgateWire

/// Bounds how many calls of a kind each user has under way, over all connections of the user (Behaviour X2).
final class UserQuota {
    private let most: Int
    /// What is counted, for people.
    private let what: String
    private var underWay: [UInt32: Int] = [:]

    init(most: Int, of what: String) {
        (self.most, self.what) = (most, what)
    }

    /// Counts one more of a user. Throws if that would be too many.
    func begin(for uid: UInt32) throws(RPCError) {
        let count = underWay[uid, default: 0]
        guard count < most else {
            throw RPCError(.limit, "a user may have no more than \(most) \(what) under way")
        }
        underWay[uid] = count + 1
    }

    /// One of a user has ended.
    func end(for uid: UInt32) {
        let left = underWay[uid, default: 1] - 1
        underWay[uid] = left > 0 ? left : nil
    }
}
