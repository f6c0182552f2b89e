import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests barriers that an embedding program adds.
@Suite struct OwnBarrierTests {
    @Test("B9: a barrier that throws is open, is listed with the cause, and each error is counted in status once")
    func throwing() async throws {
        let adding: ServiceStage.Adding = { $0.addBarrier(LockBarrier.Factory()) }
        let settings: DataObject = ["barriers": ["LockBarrier": ["scopes": ["collect"]]]]
        try await ServiceStage.run(settings, adding: adding) { stage in
            let client = try await stage.client()
            #expect(try await client.call("status")["counters"]["barrier_errors"] == 0)
            for errors in 1...2 {
                try await jam(true, client)
                #expect(
                    try await client.call("status")["counters"]["barrier_errors"] == .number(DataNumber(errors)))
                let barrier = try await client.listedBarrier("LockBarrier")
                #expect(barrier["states"] == ["collect": "open"])
                #expect(barrier["reason"] == "jammed")
                try await jam(false, client)
                #expect(try await client.listedBarrier("LockBarrier")["reason"] == .null)
            }
            try await client.call("track", ["event": "sale"])
            #expect(try await stage.events(of: "collect", after: client).count == 1)
        }
    }

    @Test(
        "B4: a program's barrier without settings, whose default scopes match no dispatcher, causes a warning",
        arguments: [(["collect": .null], true), ([:], false)] as [(DataObject, Bool)])
    func idle(dispatchers: DataObject, isWarning: Bool) async throws {
        let adding: ServiceStage.Adding = { $0.addBarrier(Barriers.batching()) }
        try await ServiceStage.run(["dispatchers": .object(dispatchers)], adding: adding) { stage in
            let client = try await stage.client()
            let warnings = try await client.call("status")["warnings"].elements
            let warning: DataItem =
                "barriers.BatchingBarrier: applies by default to no configured dispatcher"
            #expect(warnings == (isWarning ? [warning] : []))
            // When `collect` is added, the warning disappears.
            let collect: DataItem = ["kind": "file", "path": "c.ndjson"]
            try await client.call("config.set", ["patch": ["dispatchers": ["collect": collect]]])
            #expect(try await client.call("status")["warnings"].elements.isEmpty)
        }
    }

    private func jam(_ isJammed: DataItem, _ client: LineClient) async throws {
        try await client.call(
            "config.set", ["patch": ["barriers": ["LockBarrier": ["configuration": ["jammed": isJammed]]]]])
    }
}

/// A barrier that throws while its setting `jammed` is true.
private final class LockBarrier: UncertainBarrier, ConfigurableBarrier {
    static let id = "LockBarrier"
    private let finding = StateSubject(BarrierFinding.state(.open))

    struct Factory: BarrierFactory {
        func create(context: BarrierContext, configuration: DataObject) -> LockBarrier {
            LockBarrier()
        }
    }

    private struct Jammed: Error, CustomStringConvertible {
        let description = "jammed"
    }

    func onFinding(for dispatcherId: String) -> Observable<BarrierFinding> {
        finding.wrappedValue
    }

    func updateConfiguration(_ configuration: DataObject) {
        let isJammed = configuration.get(key: "jammed") ?? false
        finding.value = isJammed ? BarrierFinding { throw Jammed() } : .state(.open)
    }
}
