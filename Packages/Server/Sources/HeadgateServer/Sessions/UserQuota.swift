import HeadgateWire

/// A limit on the calls of one kind that each user has in progress over all connections (Behaviour X2).
final class UserQuota {
    private let most: Int
    /// The name of the counted calls, for error messages.
    private let what: String
    private var inProgress: [UInt32: Int] = [:]

    init(most: Int, of what: String) {
        (self.most, self.what) = (most, what)
    }

    /// Counts a call that begins. Throws `limit` if the user has too many.
    func begin(for uid: UInt32) throws(RPCError) {
        let count = inProgress[uid, default: 0]
        guard count < most else {
            throw RPCError(.limit, "a user has at most \(most) \(what) in progress")
        }
        inProgress[uid] = count + 1
    }

    /// Counts a call that has ended.
    func end(for uid: UInt32) {
        let left = inProgress[uid, default: 1] - 1
        inProgress[uid] = left > 0 ? left : nil
    }
}
