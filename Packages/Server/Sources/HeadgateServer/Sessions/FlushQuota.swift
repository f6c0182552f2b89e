import HeadgateWire

/// How many flushes each user has under way (Behaviour X2). By user: they outlive the connections that asked for them.
final class FlushQuota {
    private var underWay: [UInt32: Int] = [:]

    /// Takes note that a user has one more; throws when that would be too many.
    func begin(for uid: UInt32) throws(RPCError) {
        let count = underWay[uid, default: 0]
        guard count < Limits.mostFlushesPerUser else {
            throw RPCError(.limit, "a user may have no more than \(Limits.mostFlushesPerUser) flushes under way")
        }
        underWay[uid] = count + 1
    }

    /// One of a user's has ended, or did not begin.
    func end(for uid: UInt32) {
        let left = underWay[uid, default: 1] - 1
        underWay[uid] = left > 0 ? left : nil
    }
}
