import HeadgateCore

/// The requirements of a store that can rewind. Others need not do anything.
extension EventStoreConformance {
    static let rewinding = [
        rewindCheck("R1: settled events are kept while the limits allow it, also across a restart") { bench in
            try bench.settleAll(1...6)
            try bench.reopen()
            try bench.expect(bench.numbers(), is: [1, 2, 3, 4, 5, 6], "the retained events")
        },
        rewindCheck("R2: a dispatcher's events from a start on are unsettled again, also across a restart") { bench in
            try bench.settleAll(1...6)
            let queue = try bench.rewound(to: .sequenceNumber(3))
            try bench.expect(queue.first, is: 3, "the first event")
            try bench.expect(queue.settled, is: Settled(through: 2), "the settled events")
            try bench.expect(queue.unsettled.total.events, is: 4, "the unsettled events")
            try bench.expect(queue.isComplete, "the rewind is not complete")
            let state = try bench.reopen()
            try bench.expect(state.dispatchers.map(\.settled), is: [Settled(through: 2)], "the settled events")
            try bench.expect(state.unsettled[1]?.total.events, is: 4, "the unsettled events")
            try bench.expect(state.kept["mark"], is: [3], "the mark")
        },
        rewindCheck("R2: a time names the first event that was received then or later") { bench in
            try bench.settleAll(1...6)
            try bench.expect(bench.rewound(to: .receipt(2_000)).first, is: 3, "the first event")
            try bench.expect(bench.rewound(to: .receipt(3_001)).first, is: 7, "the first event")
        },
        rewindCheck("R2: a dry run answers like the rewind, and changes nothing") { bench in
            try bench.settleAll(1...6)
            let queue = try bench.rewound(to: .sequenceNumber(3), isDryRun: true)
            try bench.expect(queue.receipts, is: 2_000...3_000, "the receipts")
            let state = try bench.reopen()
            try bench.expect(state.unsettled[1]?.total.events ?? 0, is: 0, "the unsettled events")
            try bench.expect(state.kept["mark"], is: nil, "the mark")
            try bench.expect(bench.rewound(to: .sequenceNumber(3)), is: queue, "the rewind")
            try bench.expect(bench.rewound(to: .sequenceNumber(7), isDryRun: true).receipts, is: nil, "the receipts")
        },
        rewindCheck("R2: another dispatcher's settlements stay, written or not") { bench in
            try bench.write(.dispatcher(.at(0, number: 2, id: "archive")))
            try bench.settleAll(1...6, routes: [1: [1, 2]])
            _ = try bench.rewound(to: .sequenceNumber(1))
            let state = try bench.reopen()
            try bench.expect(state.unsettled[1]?.total.events, is: 6, "the events of the rewound one")
            try bench.expect(state.unsettled[2]?.total.events ?? 0, is: 0, "the events of the other one")
        },
        rewindCheck("R4: with routes that name it, a new dispatcher gets older events, also across a restart") {
            bench in
            try bench.settleAll(1...6)
            try bench.write(.dispatcher(.at(6, number: 2, id: "late")))
            let request = RewindRequest(2, to: .sequenceNumber(3), routes: [1: [1, 2]])
            let outcome = try (bench.answer { bench.store.rewind(request, then: $0) } as Result).get()
            guard case .rewound(let queue) = outcome else {
                throw EventStoreConformance.Failure(description: "the start is refused")
            }
            try bench.expect(queue.unsettled.total.events, is: 4, "the unsettled events")
            let state = try bench.reopen()
            try bench.expect(state.routes[1], is: [1, 2], "the route")
            try bench.expect(state.unsettled[2]?.total.events, is: 4, "the unsettled events")
            try bench.expect(state.unsettled[1]?.total.events ?? 0, is: 0, "the events of the other one")
        },
        rewindCheck("R3: a rewind to events that are not kept is refused, and changes nothing") { bench in
            try bench.settleAll(1...6)
            try bench.write(.retain(nil))
            try bench.expect(bench.rewind(to: .sequenceNumber(1)), is: .notRetained(nil), "the answer")
            try bench.expect(bench.reopen().unsettled[1]?.total.events ?? 0, is: 0, "the unsettled events")
        },
    ]

    private static func rewindCheck(
        _ description: String, _ body: @escaping @Sendable (StoreBench) throws -> Void
    ) -> Check {
        Check(description) { bench in
            if bench.store.canRewind { try body(bench) }
        }
    }
}

extension StoreBench {
    /// Retains everything, and appends pairs of events that dispatcher 1 settles. They are received at 1 000, 2 000 and so on.
    fileprivate func settleAll(
        _ numbers: ClosedRange<SequenceNumber>, routes: [RouteNumber: [DispatcherNumber]] = [1: [1]]
    ) throws {
        try write(.retain(Retention()), .dispatcher(.at(0)))
        var received: Int64 = 1_000
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 2) {
            try append(.sample(first...first + 1, received: received, newRoutes: first == 1 ? routes : [:]))
            received += 1_000
        }
        try write(.settled(1, Settled(through: numbers.upperBound)), .trim(through: numbers.upperBound))
    }

    fileprivate func rewind(to start: RewindRequest.Start, isDryRun: Bool = false) throws -> RewindOutcome {
        let request = RewindRequest(1, to: start, isDryRun: isDryRun) { ["mark": [UInt8(truncatingIfNeeded: $0)]] }
        return try (answer { store.rewind(request, then: $0) } as Result).get()
    }

    fileprivate func rewound(to start: RewindRequest.Start, isDryRun: Bool = false) throws -> RewoundQueue {
        guard case .rewound(let queue) = try rewind(to: start, isDryRun: isDryRun) else {
            throw EventStoreConformance.Failure(description: "the rewind is refused")
        }
        return queue
    }
}
