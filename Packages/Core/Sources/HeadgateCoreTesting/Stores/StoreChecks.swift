import HeadgateCore

extension EventStoreConformance {
    // MARK: Appending

    static let appending = [
        Check("Q2: groups are stored and answered in order of arrival") { bench in
            var answered: [SequenceNumber] = []
            for number in 1...50 as ClosedRange<SequenceNumber> {
                bench.store.append(.sample(2 * number - 1...2 * number)) { _ in answered.append(number) }
            }
            try bench.write()
            try bench.expect(answered, is: Array(1...50), "the answered groups")
            try bench.expect(bench.numbers(), is: Array(1...100), "the stored events")
        },
        Check("Q5: no answer comes before the call returns") { bench in
            var answers = 0
            bench.store.append(.sample(1...1)) { _ in answers += 1 }
            bench.store.read(after: 0) { _ in answers += 1 }
            bench.store.write([]) { _ in answers += 1 }
            try bench.expect(answers, is: 0, "answers at once")
            try bench.write()
            try bench.expect(answers, is: 3, "answers")
        },
        Check("Q2: a read sees all earlier requests, and no later ones") { bench in
            var seen: [[SequenceNumber]] = []
            for number in 1...3 as ClosedRange<SequenceNumber> {
                bench.store.append(.sample(number...number)) { _ in }
                bench.store.read(after: number - 1) { seen.append((try? $0.get())?.map(\.sequenceNumber) ?? []) }
            }
            try bench.write()
            try bench.expect(seen.map(\.last), is: [1, 2, 3], "the last event of each read")
        },
        Check("Q5: a group that depends on a missing one is not stored, nor is a group that depends on that") {
            bench in
            let groups: [(behind: SequenceNumber, numbers: ClosedRange<SequenceNumber>)] = [
                (0, 1...2), (4, 5...6), (6, 7...8), (2, 9...9), (9, 10...10),
            ]
            var faults: [Bool] = []
            for (behind, numbers) in groups {
                bench.store.append(AppendGroup.sample(numbers).with(behind: behind)) { faults.append($0 != nil) }
            }
            try bench.write()
            try bench.expect(faults, is: [false, true, true, false, false], "the failed groups")
            try bench.expect(bench.numbers(), is: [1, 2, 9, 10], "the stored events")
        },
        Check("Q2: existing state is not overwritten, and new state of a group is stored") { bench in
            try bench.write(.dispatcher(.at(0)), .keep("key", [1]))
            var initialState = InitialState()
            initialState.dispatchers = [.at(7), .at(0, number: 2, id: "archive")]
            initialState.kept = ["key": [2], "other": [3]]
            try bench.append(.sample(1...2, newRoutes: [1: [1, 2]]).with(initialState: initialState))
            let state = try bench.reopen()
            try bench.expect(state.dispatchers, is: [.at(0), .at(0, number: 2, id: "archive")], "dispatchers")
            try bench.expect(state.kept, is: ["key": [1], "other": [3]], "the kept values")
        },
    ]

    // MARK: Restarting

    static let restarting = [
        Check("Q3: a fresh store is empty") { bench in
            let state = bench.state
            try bench.expect(
                state.dispatchers.isEmpty && state.routes.isEmpty && state.unsettled.isEmpty && state.kept.isEmpty
                    && state.recentIDs.isEmpty && state.warnings.isEmpty && state.lastSequenceNumber == 0, "\(state)")
            try bench.expect(bench.read(after: 0) == nil, "there are events")
        },
        Check("Q3: dispatchers, routes and groups survive a restart byte for byte") { bench in
            let orphan = StoredDispatcher(
                number: 2, id: "archive", settled: Settled(through: 1, and: [3...3]), orphanedSince: 77)
            try bench.write(.dispatcher(.at(0)), .dispatcher(orphan))
            let group = AppendGroup.sample(1...3, newRoutes: [1: [1, 2], 2: []])
            try bench.append(group)
            let state = try bench.reopen()
            try bench.expect(state.dispatchers.sorted { $0.number < $1.number }, is: [.at(0), orphan], "dispatchers")
            try bench.expect(state.routes, is: [1: [1, 2], 2: []], "routes")
            try bench.expect(state.lastSequenceNumber, is: 3, "the last number")
            try bench.expect(state.newestStamp, is: 1_000, "the newest receipt")
            let chunk = try bench.read(after: 0)
            try bench.expect(chunk.map { Array($0.bytes) }, is: group.chunk.bytes, "the group")
        },
        Check("Q3: the unsettled events of each dispatcher are counted by route, at any position") { bench in
            let positions: [(DispatcherNumber, SequenceNumber)] = [(1, 0), (2, 2), (3, 4), (4, 6), (5, 8)]
            for (number, position) in positions {
                try bench.write(.dispatcher(.at(position, number: number, id: "d\(number)")))
            }
            let routes: [RouteNumber: [DispatcherNumber]] = [1: [1, 2, 4], 2: [2, 3, 5]]
            try bench.append(.sample([(1, 1), (2, 2), (3, 1), (4, 2)], newRoutes: routes))
            try bench.append(.sample([(5, 2), (6, 1), (7, 1), (8, 2)]))
            let counted = try bench.reopen().unsettled.mapValues(\.events)
            let expected: [DispatcherNumber: [RouteNumber: Int]] = [
                1: [1: 4], 2: [1: 3, 2: 3], 3: [2: 2], 4: [1: 1], 5: [:],
            ]
            for (number, tallies) in expected { try bench.expect(counted[number] ?? [:], is: tallies, "of \(number)") }
        },
        Check("Q2: events settled beyond a position do not count") { bench in
            try bench.write(.dispatcher(.at(0)))
            try bench.append(.sample(1...4, newRoutes: [1: [1]]))
            for first in [5, 9, 13] as [SequenceNumber] { try bench.append(.sample(first...first + 3)) }
            let settled = Settled(through: 2, and: [4...4, 6...13, 15...16])
            try bench.write(.settled(1, settled))
            let state = try bench.reopen()
            try bench.expect(state.dispatchers.first?.settled, is: settled, "the settled events")
            try bench.expect(state.unsettled[1]?[1]?.events, is: 3, "the unsettled events")
        },
        Check("Q3: a dropped dispatcher is removed with its dead letters, and others stay") { bench in
            try bench.write(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "archive")))
            try bench.write(.deadLetter(.sample(1)), .deadLetter(.sample(2, dispatcher: 2)))
            try bench.write(.forgetDispatcher(1))
            try bench.expect(bench.reopen().dispatchers.map(\.number), is: [2], "dispatchers")
            try bench.expect(bench.deadLetters().deadLetters.map(\.deadLetter.dispatcher), is: [2], "the dead letters")
        },
        Check("Q7: ids survive a restart, oldest first, except dropped ones") { bench in
            for number in 1...60 as ClosedRange<SequenceNumber> {
                let ids = RecentIDs(
                    lastSequenceNumber: number, receivedStamp: 10 * number, count: 1,
                    bytes: [UInt8](repeating: UInt8(number), count: 16))
                try bench.append(.sample(number...number, recentIDs: ids))
            }
            try bench.expect(bench.reopen().recentIDs.map(\.lastSequenceNumber), is: Array(1...60), "ids")
            try bench.write(.forgetIDs(through: 58))
            let ids = try bench.reopen().recentIDs.filter { $0.lastSequenceNumber > 58 }
            try bench.expect(ids.map(\.lastSequenceNumber), is: [59, 60], "the remaining ids")
            try bench.expect(ids.last?.bytes, is: [UInt8](repeating: 60, count: 16), "the newest")
        },
        Check("Q3: unneeded events may be removed, but no number is reused") { bench in
            for number in 1...300 as ClosedRange<SequenceNumber> {
                try bench.append(.sample(2 * number - 1...2 * number))
            }
            try bench.write(.trim(through: .max))
            try bench.expect(bench.reopen().lastSequenceNumber, is: 600, "the last number")
            try bench.append(.sample(601...602))
            try bench.expect(bench.numbers(after: 600), is: [601, 602], "the later events")
            try bench.expect(bench.reopen().lastSequenceNumber, is: 602, "the last number")
        },
    ]

    // MARK: Reading

    static let reading = [
        Check(
            "Q2: reading from within a group returns at least its rest, and reading after the last event returns nothing"
        ) {
            bench in
            try bench.append(.sample(10...20))
            let inside = try bench.read(after: 15)?.map(\.sequenceNumber) ?? []
            try bench.expect(inside.filter { $0 > 15 }, is: Array(16...20), "the events after 15")
            try bench.expect(bench.read(after: 20) == nil && bench.read(after: .max) == nil, "an event is read")
            try bench.expect(bench.read(after: -5)?.lastSequenceNumber, is: 20, "the first group")
        },
        Check("Q4: expired events are returned in order and completely") { bench in
            try bench.append(.sample(1...3, received: 1_000, timeToLive: .milliseconds(100)))
            try bench.append(.sample(4...6, received: 1_000))
            try bench.append(.sample(7...9, received: 1_050, timeToLive: .milliseconds(10_000)))
            try bench.append(.sample(10...12, received: 1_060, timeToLive: .milliseconds(50)))
            for _ in 1...2 {
                try bench.expectAged(ended: 1_110, holds: [1, 2, 3, 10, 11, 12])
                try bench.expectAged(ended: 20_000, holds: [1, 2, 3, 7, 8, 9, 10, 11, 12])
                try bench.reopen()
            }
        },
    ]
}

extension StoreBench {
    fileprivate func expectAged(ended: Int64, holds numbers: [SequenceNumber]) throws {
        var range = AgedRange(
            after: 0, through: 100, limit: AgeLimit(receivedBy: .min, endedBy: ended), earlier: nil)
        var found: [SequenceNumber] = []
        while let chunk = try (answer { store.readAged(range, then: $0) } as Result<Chunk?, StoreFault>).get() {
            found += chunk.map(\.sequenceNumber).filter { $0 > range.after }
            range.after = chunk.lastSequenceNumber
        }
        try expect(found == found.sorted() && Set(found).isSuperset(of: numbers), "\(found), and not \(numbers)")
    }
}
