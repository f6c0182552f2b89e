import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// What a history begins with: settings drawn by chance, small enough that every limit is met.
struct Scene {
    /// The most bytes that wait for a client before it counts as one that does not read.
    static let mostOutput = 4_000

    let durability: Durability
    let settings: DataObject
    /// What the dispatchers promise.
    let terms: [String: FarSide.Terms]
    let workTerms: WorkSide.Terms
    let boardTerms: BoardTerms

    init(_ record: Record) {
        let first = FarSide.Terms(dispatchLimit: record.number(1...5), inFlight: record.number(1...3))
        let second = FarSide.Terms(dispatchLimit: 1, inFlight: 1)
        terms = ["a": first, "b": second]
        workTerms = WorkSide.Terms(dispatchLimit: record.number(1...4), inFlight: record.number(1...4))
        boardTerms = BoardTerms(record)
        durability = record.oneIn(4) ? .normal : .full
        let settings: DataObject = [
            "durability": .string(durability.rawValue), "shutdown_timeout_ms": 1_000,
            "limits": [
                "max_line_bytes": 4_096, "max_unanswered": 6, "max_output_bytes": .number(DataNumber(Scene.mostOutput)),
                "max_connections": 4,
                "slow_reader_timeout_ms": 2_000,
            ],
            "store": Scene.store(record),
            "dispatchers": [
                "a": .object(Scene.dispatcher(first)),
                "b": .object(Scene.dispatcher(second).patched(with: ["remote": true])),
                "w": .object(Scene.dispatcher(workTerms)),
            ],
        ]
        self.settings = settings.patched(with: boardTerms.settings).patched(with: Scene.barriers(record))
    }

    /// Sometimes nothing goes while nobody uses a client (Behaviour B26).
    private static func barriers(_ record: Record) -> DataObject {
        guard record.oneIn(3) else { return [:] }
        let barrier: DataObject = [
            "barrier_id": "ApplicationStatusBarrier", "scopes": ["a"], "configuration": ["block_in_background": true],
        ]
        return ["barriers": ["ApplicationStatusBarrier": .object(barrier)]]
    }

    private static func dispatcher(_ terms: FarSide.Terms) -> DataObject {
        [
            "kind": "far", "dispatch_limit": .number(DataNumber(terms.dispatchLimit)),
            "in_flight": .number(DataNumber(terms.inFlight)), "max_attempts": .number(DataNumber(Charges.mostAttempts)),
            "backoff": ["cap_ms": 4_000],
        ]
    }

    private static func dispatcher(_ terms: WorkSide.Terms) -> DataObject {
        dispatcher(FarSide.Terms(dispatchLimit: terms.dispatchLimit, inFlight: terms.inFlight)).patched(
            with: ["kind": "worked", "lease_ms": .number(DataNumber(Int(terms.lease.wholeMilliseconds)))])
    }

    private static func store(_ record: Record) -> DataItem {
        var store: DataObject = ["max_events": .number(DataNumber(record.pick([12, 50, 200])))]
        if record.oneIn(3) { store["overflow"] = "drop_oldest" }
        return .object(store)
    }
}
