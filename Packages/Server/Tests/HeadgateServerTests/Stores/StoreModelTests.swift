import HeadgateCore
import HeadgateSeeds
import Testing

@testable import HeadgateServer

@Suite("SQLite event store: random use against a slow model")
struct StoreModelTests {
    @Test(
        "Q3: whatever was done, a restart gives back what the model says",
        arguments: Seeds.first(2))
    func randomUse(_ seed: Seed) throws {
        var use = RandomUse(seed: seed)
        try use.scene.open()
        for _ in 1...400 { try use.step() }
        try use.checkRestart()
    }
}

/// Does random things to a store and to the model, and compares.
private struct RandomUse {
    let seed: Seed
    let scene = StoreScene(durability: .normal)
    private var random: SeededRandom
    private var model = StoreModel()
    private var nextRoute: RouteNumber = 1

    init(seed: Seed) {
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: append()
        case 45..<75: settle()
        case 75..<80: saveDispatcher()
        case 80..<81: change(.forgetDispatcher(dispatcher()))
        case 81..<87: change(.trim(through: model.settled))
        case 87..<90: change(.forgetIDs(through: Int64.random(in: 0...(model.lastSequenceNumber + 1), using: &random)))
        case 90..<93: change(.keep("name\(dispatcher())", Bool.random(using: &random) ? [UInt8(dispatcher())] : nil))
        case 93..<97: try checkReading()
        default: try checkRestart()
        }
    }

    private mutating func append() {
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
        let group = Groups.of(
            events, size: Int.random(in: 0...3_000, using: &random), newRoutes: routes,
            recentIDs: Bool.random(using: &random) ? ids : nil)
        #expect(scene.append(group) == nil, "\(seed)")
        model.append(group)
    }

    private mutating func settle() {
        let number = dispatcher()
        guard let known = model.dispatchers[number]?.settled else { return saveDispatcher() }
        let newest = max(known.position, model.lastSequenceNumber)
        let position = Int64.random(in: known.position...newest, using: &random)
        let ranges = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            let first = Int64.random(in: position...newest, using: &random)
            return first...min(newest, first + Int64.random(in: 0...60, using: &random))
        }
        change(.settled(number, Settled(through: position, and: known.ranges + ranges)))
    }

    private mutating func saveDispatcher() {
        let number = dispatcher()
        let settled = model.dispatchers[number]?.settled ?? Settled(through: model.lastSequenceNumber)
        let orphaned: Int64? = Bool.random(using: &random) ? 5 : nil
        change(
            .dispatcher(StoredDispatcher(number: number, id: "d\(number)", settled: settled, orphanedSince: orphaned))
        )
    }

    private mutating func change(_ change: StoreChange) {
        #expect(scene.write(change) == nil, "\(seed)")
        model.apply(change)
    }

    private mutating func dispatcher() -> DispatcherNumber {
        DispatcherNumber.random(in: 1...5, using: &random)
    }

    private mutating func checkReading() throws {
        let place = Int64.random(in: model.trimmed...max(model.trimmed, model.lastSequenceNumber), using: &random)
        #expect(try scene.numbers(after: place) == model.numbers(after: place), "\(seed)")
    }

    mutating func checkRestart() throws {
        let state = try scene.reopenWhenIdle(turns: 4)
        #expect(state.dispatchers == model.dispatchers.values.sorted { $0.number < $1.number }, "\(seed)")
        #expect(state.routes == model.routes, "\(seed)")
        #expect(state.unsettled == model.unsettled, "\(seed)")
        #expect(state.recentIDs == model.recentIDs, "\(seed)")
        #expect(state.kept == model.kept, "\(seed)")
        #expect(state.lastSequenceNumber == model.lastSequenceNumber, "\(seed)")
        #expect(state.warnings.isEmpty, "\(seed)")
    }
}
