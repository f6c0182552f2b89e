/// The size up to which a sender may fill the store, by one limit (Behaviour Q4). Pure.
///
/// Any sender may use nine tenths of a limit. The last tenth is divided into one slice for each user who stored events
/// in the last minute, and one more. The user who stored most may fill the store to the end of the first slice, the
/// next one to the end of the second, and so on. The last slice stays free for new users, who stored nothing in the
/// last minute. The namespaces of a user divide the user's slice in the same way. The part that is kept for new
/// namespaces shrinks as the number of users grows, so a new user always has more room than the others had.
///
/// A tenth that is too small to be kept for others is divided without the additional slices, so a single sender may fill
/// a small store to its limit.
struct FairRoom: Equatable {
    /// The part of a limit that is shared fairly.
    static let shared = 10
    /// The fewest events in the last tenth for which a slice is kept for new senders.
    static let leastKeptEvents = 100
    /// The fewest bytes in the last tenth for which a slice is kept for new senders.
    static let leastKeptBytes = 1 << 20

    /// The position of one sender among others, by what they stored in the last minute.
    struct Rank: Equatable {
        /// The number of senders that stored more.
        var heavier = 0
        /// The number of senders, including this one.
        var all = 1
    }

    /// The limit of the whole store.
    let limit: Int
    /// The least size of the last tenth for which a slice is kept for others.
    let leastKept: Int

    /// Returns the size up to which any sender may fill the store.
    static func unshared(_ limit: Int) -> Int { limit - limit / shared }

    /// Returns the size up to which a sender may fill the store.
    /// - Parameters:
    ///   - user: the position of the user among all users.
    ///   - namespace: the position of the namespace among those of the user.
    func most(_ user: Rank, _ namespace: Rank) -> Int {
        let tenth = limit / FairRoom.shared
        let kept = tenth >= leastKept ? 1 : 0
        // A slice has as many parts as there are namespaces, and a smaller one that is kept. All are counted in units of
        // the smaller one.
        let part = user.all + 1
        let slice = namespace.all * part + kept
        let own = user.heavier * slice + (namespace.heavier + 1) * part
        let all = (user.all + kept) * slice
        let (product, overflow) = tenth.multipliedReportingOverflow(by: own)
        return limit - tenth + (overflow ? tenth / all * own : product / all)
    }
}
