import HeadgateCore

/// The requirements of a store that can erase. Others need not do anything.
extension EventStoreConformance {
    static let erasing = [
        erasureCheck("E1: erased events and dead letters are neither read nor counted, also across a restart") {
            bench in
            try bench.fill()
            try bench.erase([2, 5], [1])
            try bench.expectRest(bench.state(of: bench.reopen()))
        },
        erasureCheck("E1: once the bytes are removed, the other events and dead letters are there") { bench in
            try bench.fill()
            try bench.erase([2, 5], [1])
            try bench.removeErasedBytes()
            try bench.append(.sample(7...8))
            let state = try bench.reopen()
            try bench.expect(!state.isErasing, "the removal is not complete")
            try bench.expect(bench.numbers(), is: [1, 3, 4, 6, 7, 8], "the events")
            try bench.expect(state.unsettled[1]?.total.events, is: 6, "the unsettled events")
        },
        erasureCheck("E2: a removal that a restart has interrupted is completed") { bench in
            try bench.fill()
            try bench.erase([2, 5], [1])
            _ = try bench.reopen()
            try bench.removeErasedBytes()
            try bench.expectRest(bench.state(of: bench.reopen()))
        },
    ]

    private static func erasureCheck(
        _ description: String, _ body: @escaping @Sendable (StoreBench) throws -> Void
    ) -> Check {
        Check(description) { bench in
            if bench.store.canErase { try body(bench) }
        }
    }
}

extension StoreBench {
    /// Stores six events of dispatcher 1, and two dead letters.
    fileprivate func fill() throws {
        try write(.dispatcher(.at(0)))
        try append(.sample(1...3, newRoutes: [1: [1]]))
        try append(.sample(4...6))
        try write(.deadLetter(.sample(2)), .deadLetter(.sample(3)))
    }

    fileprivate func erase(_ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber]) throws {
        let result: Result<Void, StoreFault> = answer { store.erase(events, deadLetters, then: $0) }
        try result.get()
    }

    fileprivate func removeErasedBytes() throws {
        for _ in 0..<1_000 {
            let result: Result<Bool, StoreFault> = answer { store.removeErasedBytes(then: $0) }
            if try result.get() { return }
        }
        throw EventStoreConformance.Failure(description: "the removal does not end")
    }

    fileprivate func state(of state: StoredState) -> (unsettled: Int?, deadLetters: Int) {
        (state.unsettled[1]?.total.events, state.deadLetterTally.events)
    }

    fileprivate func expectRest(_ state: (unsettled: Int?, deadLetters: Int)) throws {
        try expect(numbers(), is: [1, 3, 4, 6], "the events")
        try expect(state.unsettled, is: 4, "the unsettled events")
        try expect(state.deadLetters, is: 1, "the dead letters")
    }
}
