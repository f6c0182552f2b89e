/// The use of the store by each user and each namespace, and the share of the last tenth that each of them gets
/// (Behaviour Q4).
///
/// Sessions open an account for their user and namespace, and each event names its account. There are accounts for some
/// hundred users, and some dozens of namespaces of each. Further ones share an account. Pure.
public struct StoreShares {
    /// The number of an account. 0 stands for no account: such events may fill the store to its limits.
    public typealias Number = UInt32

    private struct Account {
        let user: Int
        /// The namespace as it is stored, or nil for all namespaces that have no account of their own.
        let namespace: String?
        /// The number of sessions that use the account.
        var sessions = 0
        var meter = UseMeter()
        /// The account's total when the present span of ``PendingShares`` began.
        var atSpan = Tally.zero
    }

    private struct User {
        /// The user ID, or nil for all users that have no account of their own.
        let uid: UInt32?
        /// The indexes of the user's accounts.
        var accounts: [Int] = []
        var meter = UseMeter()
    }

    /// The most users with an account of their own.
    static let mostUsers = 256
    /// The most namespaces of one user with an account of their own.
    static let mostNamespaces = 64

    private var accounts: [Account] = []
    private var users: [User] = []
    /// The indexes of accounts that are not in use.
    private var free: [Int] = []
    private var pending: PendingShares
    private var step: Int64 = 0

    init(after last: SequenceNumber) {
        pending = PendingShares(after: last)
    }

    // MARK: Accounts

    /// Opens the account of a user's namespace for a session. ``close(_:)`` ends the session's use.
    public mutating func open(uid: UInt32, namespace: String) -> Number {
        let index = account(of: namespace, in: user(uid))
        accounts[index].sessions += 1
        return Number(index + 1)
    }

    /// Ends a session's use of an account.
    public mutating func close(_ number: Number) {
        guard number != 0 else { return }
        accounts[Int(number) - 1].sessions -= 1
    }

    private mutating func user(_ uid: UInt32) -> Int {
        if let index = users.firstIndex(where: { $0.uid == uid }) { return index }
        if users.count(where: { $0.uid != nil }) < StoreShares.mostUsers { return addUser(uid) }
        if let idle = users.indices.first(where: { users[$0].uid != nil && isIdle(user: $0) }) {
            free += users[idle].accounts
            users[idle] = User(uid: uid)
            return idle
        }
        return users.firstIndex { $0.uid == nil } ?? addUser(nil)
    }

    private mutating func addUser(_ uid: UInt32?) -> Int {
        users.append(User(uid: uid))
        return users.count - 1
    }

    private mutating func account(of namespace: String, in user: Int) -> Int {
        let own = users[user].accounts
        guard users[user].uid != nil else { return own.first ?? addAccount(nil, user) }
        if let index = own.first(where: { accounts[$0].namespace == namespace }) { return index }
        if own.count(where: { accounts[$0].namespace != nil }) < StoreShares.mostNamespaces {
            return addAccount(namespace, user)
        }
        if let idle = own.first(where: { accounts[$0].namespace != nil && isIdle(account: $0) }) {
            accounts[idle] = Account(user: user, namespace: namespace)
            return idle
        }
        return own.first { accounts[$0].namespace == nil } ?? addAccount(nil, user)
    }

    private mutating func addAccount(_ namespace: String?, _ user: Int) -> Int {
        let account = Account(user: user, namespace: namespace)
        let index = free.popLast() ?? accounts.count
        if index < accounts.count { accounts[index] = account } else { accounts.append(account) }
        users[user].accounts.append(index)
        return index
    }

    private func isIdle(user: Int) -> Bool { users[user].accounts.allSatisfy { isIdle(account: $0) } }

    private func isIdle(account index: Int) -> Bool {
        let account = accounts[index]
        return account.sessions == 0 && account.meter.minute == .zero && account.meter.total == account.atSpan
            && !pending.has(index)
    }

    // MARK: Counting

    /// Counts an accepted event.
    @inline(__always)
    mutating func add(_ bytes: Int, to number: Number) {
        guard number != 0 else { return }
        let index = Int(number) - 1
        accounts[index].meter.add(bytes)
        users[accounts[index].user].meter.add(bytes)
    }

    /// Moves on to the present time.
    /// - Parameter last: the last sequence number in use.
    mutating func advance(to now: Instant, last: SequenceNumber) {
        let present = now.nanoseconds / UseMeter.step.wholeNanoseconds
        if present > step { advance(steps: Int(clamping: present - step)) }
        step = present
        guard pending.isSpanComplete(at: last) else { return }
        pending.endSpan(at: last, presentSpan)
        for index in accounts.indices { accounts[index].atSpan = accounts[index].meter.total }
    }

    private mutating func advance(steps: Int) {
        for index in accounts.indices { accounts[index].meter.advance(steps: steps) }
        for index in users.indices { users[index].meter.advance(steps: steps) }
    }

    private var presentSpan: [PendingShares.Part] {
        accounts.indices.compactMap { index in
            let new = accounts[index].meter.total - accounts[index].atSpan
            return new == .zero ? nil : PendingShares.Part(account: index, tally: new)
        }
    }

    /// Notes that all dispatchers have passed a sequence number.
    mutating func settle(through point: SequenceNumber) { pending.settle(through: point) }

    // MARK: Sharing

    /// Returns true if a sender may fill the store to this size.
    @inline(never)
    func allows(_ size: Tally, to number: Number, within limits: StoreLimits) -> Bool {
        guard number != 0 else { return !limits.excess(of: size) }
        let account = accounts[Int(number) - 1]
        func most(_ limit: Int, _ least: Int, _ measure: (Tally) -> Int) -> Int {
            FairRoom(limit: limit, leastKept: least).most(
                rank(of: users[account.user].meter, among: users.lazy.map { $0.meter }, by: measure),
                rank(
                    of: account.meter, among: users[account.user].accounts.lazy.map { accounts[$0].meter }, by: measure)
            )
        }
        return size.events <= most(limits.maxEvents, FairRoom.leastKeptEvents) { $0.events }
            && size.bytes <= most(limits.maxBytes, FairRoom.leastKeptBytes) { $0.bytes }
    }

    /// Returns the position of a sender among those that stored something in the last minute.
    /// - Parameters:
    ///   - sender: the sender's meter.
    ///   - all: the meters of all senders, this one included.
    ///   - measure: what is compared: events or bytes.
    private func rank(
        of sender: UseMeter, among all: some Sequence<UseMeter>, by measure: (Tally) -> Int
    ) -> FairRoom.Rank {
        let own = measure(sender.minute)
        var rank = FairRoom.Rank(heavier: 0, all: own > 0 ? 0 : 1)
        for meter in all {
            let use = measure(meter.minute)
            guard use > 0 else { continue }
            rank.all += 1
            if use > own { rank.heavier += 1 }
        }
        return rank
    }

    // MARK: Reporting

    /// The use of the store by one user's namespace.
    public struct Sender: Sendable, Equatable {
        /// The user ID, or nil for all users without an account of their own.
        public let uid: UInt32?
        /// The namespace as it is stored, or nil for all namespaces without an account of their own.
        public let namespace: String?
        /// The events that were accepted in the last minute.
        public var minute: Tally
        /// The pending events, an estimate.
        public var pending: Tally
    }

    /// The use of the store by one user.
    public struct UserUse: Sendable, Equatable {
        /// The user ID, or nil for all users without an account of their own.
        public let uid: UInt32?
        /// The events that were accepted since the user's account was opened.
        public let total: Tally
        /// The pending events, an estimate.
        public var pending = Tally.zero
    }

    /// Returns the senders of pending events and of the last minute's events, those with most pending events first.
    /// - Parameters:
    ///   - last: the last sequence number in use.
    ///   - live: the number and size of stored events, which the estimates do not exceed together.
    func senders(through last: SequenceNumber, live: Tally) -> [Sender] {
        let pending = pendingEvents(through: last, live)
        return accounts.indices.map { index in
            Sender(
                uid: users[accounts[index].user].uid, namespace: accounts[index].namespace,
                minute: accounts[index].meter.minute, pending: pending[index] ?? .zero)
        }
        .filter { $0.minute != .zero || $0.pending != .zero }
        .sorted { ($0.pending.events, $0.minute.events) > ($1.pending.events, $1.minute.events) }
    }

    /// Returns the use of the store by each user, in the order of user IDs.
    func userUses(through last: SequenceNumber, live: Tally) -> [UserUse] {
        var uses = users.map { UserUse(uid: $0.uid, total: $0.meter.total) }
        for (index, tally) in pendingEvents(through: last, live) { uses[accounts[index].user].pending += tally }
        return uses.sorted { ($0.uid ?? .max) < ($1.uid ?? .max) }
    }

    private func pendingEvents(through last: SequenceNumber, _ live: Tally) -> [Int: Tally] {
        let pending = pending.pending(through: last, present: presentSpan)
        let sum = pending.values.reduce(0) { $0 + $1.events }
        guard sum > live.events else { return pending }
        return pending.mapValues { $0.scaled(by: Double(live.events) / Double(sum)) }
    }
}
