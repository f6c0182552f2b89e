import HeadgateCoreTesting
import HeadgateSeeds
import Testing

@testable import HeadgateCore

/// A store that only counts its events, with the shares of its senders.
private struct SharedStore {
    var shares = StoreShares(after: 0)
    var limits = StoreLimits()
    var last: SequenceNumber = 0
    /// The number of settled events.
    var settled: SequenceNumber = 0
    var now = Instant(nanoseconds: 1_000_000_000_000)

    init(events limit: Int) {
        limits.maxEvents = limit
    }

    var live: Tally { Tally(events: Int(last - settled), bytes: Int(last - settled) * 100) }

    /// Offers an event.
    /// - Returns: True if it was stored.
    mutating func store(from sender: StoreShares.Number) -> Bool {
        shares.advance(to: now, last: last)
        guard shares.allows(live + Tally(events: 1, bytes: 100), to: sender, within: limits) else { return false }
        last += 1
        shares.add(100, to: sender)
        return true
    }

    mutating func fill(from sender: StoreShares.Number) {
        while store(from: sender) {}
    }

    mutating func deliver(_ events: Int) {
        settled = min(last, settled + SequenceNumber(events))
        shares.settle(through: settled)
    }

    mutating func wait(_ duration: Duration) { now = now + duration }
}

@Suite("Shares of the store")
struct StoreSharesTests {
    @Test("Q4: while one user floods a full store, no event of another user is refused", arguments: [1_000, 100_000])
    func flood(limit: Int) {
        var store = SharedStore(events: limit)
        let flooder = store.shares.open(uid: 1000, namespace: "uid:1000")
        store.fill(from: flooder)
        let other = store.shares.open(uid: 1001, namespace: "uid:1001")
        // A minute in steps of a tenth of a second: the destination takes 100 events, and the other user sends one.
        for _ in 1...600 {
            store.wait(.milliseconds(100))
            let isStored = store.store(from: other)
            #expect(isStored)
            store.deliver(100)
            store.fill(from: flooder)
        }
    }

    @Test("Q4: a namespace that floods does not take the room of its user's other namespaces")
    func namespaces() {
        var store = SharedStore(events: 10_000)
        let flooder = store.shares.open(uid: 1000, namespace: "uid:1000/shop")
        store.fill(from: flooder)
        let other = store.shares.open(uid: 1000, namespace: "uid:1000/till")
        for _ in 1...600 {
            store.wait(.milliseconds(100))
            let isStored = store.store(from: other)
            #expect(isStored)
            store.deliver(100)
            store.fill(from: flooder)
        }
    }

    @Test("Q4: a user gets no more room by many namespaces")
    func manyNamespaces() {
        var store = SharedStore(events: 10_000)
        for number in 1...20 {
            store.fill(from: store.shares.open(uid: 1000, namespace: "uid:1000/\(number)"))
        }
        let other = store.shares.open(uid: 1001, namespace: "uid:1001")
        let stored = (1...90).filter { _ in store.store(from: other) }
        #expect(stored.count == 90)
    }

    @Test("Q4: two users who flood get the same number of events")
    func equals() {
        var store = SharedStore(events: 10_000)
        let senders = [1000, 1001].map { store.shares.open(uid: $0, namespace: "uid:\($0)") }
        store.fill(from: senders[0])
        var stored = [0, 0]
        for step in 1...3_000 {
            store.wait(.milliseconds(100))
            store.deliver(100)
            for (index, sender) in senders.enumerated() {
                while store.store(from: sender) { stored[index] += step > 1_500 ? 1 : 0 }
            }
        }
        #expect(abs(stored[0] - stored[1]) < (stored[0] + stored[1]) / 10, "\(stored)")
    }

    @Test("Q4: events without an account may fill the store")
    func noAccount() {
        var store = SharedStore(events: 10_000)
        store.fill(from: 0)
        #expect(store.live.events == 10_000)
    }

    @Test("Q4: the store reports the senders of the pending events that this daemon received")
    func pending() {
        var store = SharedStore(events: 1_000_000)
        let shop = store.shares.open(uid: 1000, namespace: "uid:1000/shop")
        let till = store.shares.open(uid: 1001, namespace: "uid:1001")
        for number in 1...50_000 { _ = store.store(from: number % 50 == 0 ? till : shop) }
        store.deliver(20_000)
        let senders = store.shares.senders(through: store.last, live: store.live)
        #expect(senders.map(\.namespace) == ["uid:1000/shop", "uid:1001"])
        #expect(senders.map(\.pending.events) == [29_400, 600])
        #expect(senders.map(\.minute.events) == [49_000, 1_000])
        let users = store.shares.userUses(through: store.last, live: store.live)
        #expect(users.map(\.uid) == [1000, 1001] && users.map(\.total.events) == [49_000, 1_000])
        #expect(users.map(\.pending.events) == [29_400, 600])
        store.deliver(30_000)
        store.wait(.seconds(70))
        store.shares.advance(to: store.now, last: store.last)
        #expect(store.shares.senders(through: store.last, live: store.live).isEmpty)
    }

    @Test("Q4: the number of accounts is bounded, and further users and namespaces share one")
    func bounded() {
        var shares = StoreShares(after: 0)
        let users = (0..<1_000).map { shares.open(uid: UInt32($0), namespace: "uid:\($0)") }
        #expect(Set(users).count == StoreShares.mostUsers + 1)
        let names = (0..<1_000).map { shares.open(uid: 0, namespace: "uid:0/\($0)") }
        #expect(Set(names).count == StoreShares.mostNamespaces)
        #expect(shares.userUses(through: 0, live: .zero).count == StoreShares.mostUsers + 1)
        // New users get the accounts that no session uses.
        for number in users + names { shares.close(number) }
        let later = (2_000..<2_100).map { shares.open(uid: UInt32($0), namespace: "uid:\($0)") }
        #expect(Set(later).count == 100)
    }

    @Test("Q4: random senders may store as many events as a plain model of the rule allows", arguments: Seeds.first(20))
    func model(seed: Seed) {
        var random = SeededRandom(seed: seed)
        var store = SharedStore(events: Int.random(in: 5...1_500, using: &random))
        var model = SharesModel(limit: store.limits.maxEvents)
        var numbers: [SharesModel.Sender: StoreShares.Number] = [:]
        var refused = 0
        for step in 1...3_000 {
            let sender = SharesModel.Sender(
                uid: UInt32.random(in: 1...4, using: &random), name: random.oneIn(3) ? "b" : "a")
            let number = numbers[sender] ?? store.shares.open(uid: sender.uid, namespace: sender.name)
            numbers[sender] = number
            let (isStored, expected) = (store.store(from: number), model.store(from: sender, at: store.now))
            guard isStored == expected else {
                Issue.record("\(seed), step \(step): stored \(isStored), expected \(expected)")
                return
            }
            refused += isStored ? 0 : 1
            if random.oneIn(4) { store.wait(.milliseconds(Int.random(in: 1...900, using: &random))) }
            guard random.oneIn(random.oneIn(50) ? 1 : 8) else { continue }
            let events = Int.random(in: 0...9, using: &random)
            store.deliver(events)
            model.deliver(events)
        }
        if store.limits.maxEvents < 500 { #expect(refused > 100, "\(seed): the store was not full") }
    }
}

/// The rule of Behaviour Q4, computed from a list of all stored events.
private struct SharesModel {
    struct Sender: Hashable {
        let uid: UInt32
        let name: String
    }

    let limit: Int
    private var stored: [(sender: Sender, step: Int64)] = []
    private var held = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func store(from sender: Sender, at now: Instant) -> Bool {
        let step = now.nanoseconds / 10_000_000_000
        stored.removeAll { $0.step <= step - 6 }
        guard held < most(sender) else { return false }
        stored.append((sender, step))
        held += 1
        return true
    }

    mutating func deliver(_ events: Int) { held = max(0, held - events) }

    private func most(_ sender: Sender) -> Int {
        let recent = stored.map(\.sender)
        let byUser = Dictionary(grouping: recent, by: \.uid).mapValues(\.count)
        let byName = Dictionary(grouping: recent.filter { $0.uid == sender.uid }, by: \.name).mapValues(\.count)
        let tenth = limit / 10
        let kept = tenth >= 100 ? 1 : 0
        let users = byUser.count + (byUser[sender.uid] == nil ? 1 : 0)
        let names = byName.count + (byName[sender.name] == nil ? 1 : 0)
        let slice = byUser.values.filter { $0 > byUser[sender.uid] ?? 0 }.count
        let part = byName.values.filter { $0 > byName[sender.name] ?? 0 }.count
        let whole = names * (users + 1) + kept
        return limit - tenth + tenth * (slice * whole + (part + 1) * (users + 1)) / ((users + kept) * whole)
    }
}
