import HeadgateCore
import HeadgateSeeds

/// A run of random operations on a store and on its model, which compares both.
struct RandomStoreUse {
    private let seed: Seed
    private let bench: StoreBench
    private var random: SeededRandom
    private var model = StoreModel()
    private var nextRoute: RouteNumber = 1

    init(_ bench: StoreBench, _ seed: Seed) {
        (self.bench, self.seed) = (bench, seed)
        random = SeededRandom(seed: seed)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: try append()
        case 45..<75: try settle()
        case 75..<80: try saveDispatcher()
        case 80..<81: try change(.forgetDispatcher(dispatcher()))
        case 81..<87: try change(.trim(through: model.settled))
        case 87..<90: try change(.forgetIDs(through: Int64.random(in: 0...model.lastSequenceNumber, using: &random)))
        case 90..<93:
            try change(.keep("name\(dispatcher())", Bool.random(using: &random) ? [UInt8(dispatcher())] : nil))
        case 93..<97: try checkReading()
        default: try checkRestart()
        }
    }

    private mutating func append() throws {
        let first = model.lastSequenceNumber + Int64.random(in: 1...3, using: &random)
        let count = Bool.random(using: &random) ? 1 : Int64.random(in: 1...40, using: &random)
        var routes: [RouteNumber: [DispatcherNumber]] = [:]
        if nextRoute == 1 || Int.random(in: 0..<10, using: &random) == 0 {
            routes[nextRoute] = (1...5).filter { _ in Bool.random(using: &random) }
            nextRoute += 1
        }
        let events = (first..<first + count).map {
            (number: $0, route: RouteNumber.random(in: 1..<nextRoute, using: &random))
        }
        let ids = RecentIDs(lastSequenceNumber: first + count - 1, receivedStamp: first, count: 1, bytes: [1])
        let group = AppendGroup.sample(
            events, size: Int.random(in: 0...3_000, using: &random), newRoutes: routes,
            recentIDs: Bool.random(using: &random) ? ids : nil)
        try bench.append(group)
        model.append(group)
    }

    private mutating func settle() throws {
        let number = dispatcher()
        guard let known = model.dispatchers[number]?.settled else { return try saveDispatcher() }
        let newest = max(known.position, model.lastSequenceNumber)
        let position = Int64.random(in: known.position...newest, using: &random)
        let ranges = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            let first = Int64.random(in: position...newest, using: &random)
            return first...min(newest, first + Int64.random(in: 0...60, using: &random))
        }
        try change(.settled(number, Settled(through: position, and: known.ranges + ranges)))
    }

    private mutating func saveDispatcher() throws {
        let number = dispatcher()
        let settled = model.dispatchers[number]?.settled ?? Settled(through: model.lastSequenceNumber)
        let orphaned: Int64? = Bool.random(using: &random) ? 5 : nil
        try change(
            .dispatcher(StoredDispatcher(number: number, id: "d\(number)", settled: settled, orphanedSince: orphaned))
        )
    }

    private mutating func change(_ change: StoreChange) throws {
        try bench.write(change)
        model.apply(change)
    }

    private mutating func dispatcher() -> DispatcherNumber {
        DispatcherNumber.random(in: 1...5, using: &random)
    }

    private mutating func checkReading() throws {
        let position = Int64.random(in: model.trimmed...max(model.trimmed, model.lastSequenceNumber), using: &random)
        let found = try bench.numbers(after: position)
        let known = Set(model.numbers(after: position))
        try bench.expect(found == found.sorted() && known.isSuperset(of: found), "\(seed): \(found) after \(position)")
        // Events that no dispatcher needs may be gone.
        let missing = model.needed(after: position).filter { !Set(found).contains($0) }
        try bench.expect(missing, is: [], "\(seed): missing after \(position)")
    }

    mutating func checkRestart() throws {
        let state = try bench.reopen()
        let dispatchers = model.dispatchers.values.sorted { $0.number < $1.number }
        try bench.expect(state.dispatchers.sorted { $0.number < $1.number }, is: dispatchers, "\(seed): dispatchers")
        try bench.expect(state.routes, is: model.routes, "\(seed): routes")
        for (number, tallies) in model.unsettled {
            try bench.expect(state.unsettled[number] ?? [:], is: tallies, "\(seed): unsettled of \(number)")
        }
        // A store may delete ids gradually.
        let ids = state.recentIDs.filter { $0.lastSequenceNumber > model.forgotten }
        try bench.expect(ids, is: model.recentIDs, "\(seed): ids")
        try bench.expect(state.kept, is: model.kept, "\(seed): the kept values")
        try bench.expect(state.lastSequenceNumber, is: model.lastSequenceNumber, "\(seed): the last number")
        try bench.expect(state.warnings, is: [], "\(seed): warnings")
    }
}
