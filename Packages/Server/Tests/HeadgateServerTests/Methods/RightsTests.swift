import Glibc
import HeadgateData
import HeadgateTransport
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Tests the rights of callers (Behaviour X1), and the log lines about changes and refused calls (Behaviour X7).
@Suite("Rights and operations", .timeLimit(.minutes(5)))
struct RightsTests {
    /// A recorder of log lines.
    private final class Lines: Sendable {
        private let lines = Guarded<[LoggedLine]>([])
        func add(_ line: LoggedLine) { lines.withLock { $0.append(line) } }
        var adding: ServiceStage.Adding { { $0.onLog = { self.add($0) } } }
        func all(_ kind: String) -> [LoggedLine] { lines.withLock { $0.filter { $0.kind == kind } } }
    }

    /// Makes all sessions belong to user 45001, because the test's own user has all rights.
    private func disguise(_ stage: ServiceStage, _ access: AccessSettings = AccessSettings()) async throws {
        try await stage.inspect { service in
            for session in service.sessions.all {
                let person = PeerCredentials(pid: 1, uid: 45_001, gid: 45_001, groups: [])
                session.caller = Caller(person, access: access, daemonUID: 0)
            }
        }
    }

    @Test("X1: any client may call `rights`, which returns its groups of methods and its stored namespace")
    func rights() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let own = try await client.call("rights")
            #expect(own["uid"] == .number(DataNumber(Int(getuid()))) && own["namespace"] == .string("uid:\(getuid())"))
            #expect(own["groups"] == ["track", "observe", "read", "control", "serve", "configure"])
            var access = AccessSettings()
            access.read.grant(45_001)
            try await disguise(stage, access)
            let others = try await client.call("rights")
            #expect(others["groups"] == ["track", "read"] && others["gid"] == 45_001)
        }
    }

    @Test("X7: a call of control or configure is logged with method, object, client, user, process and reason")
    func operated() async throws {
        let lines = Lines()
        try await ServiceStage.run(adding: lines.adding) { stage in
            let client = try await stage.client("ops/1")
            try await client.call("dispatcher.pause", ["id": "collect", "reason": "a test"])
            try await client.call("queue.purge", ["dispatcher": "archive"])
            try await client.call("config.set", ["patch": ["limits": ["max_depth": 40], "log_format": "json"]])
            try await client.call("config.reload")
            _ = try await client.refusal("dispatcher.pause", ["id": "nowhere"])
            _ = try await client.refusal("config.set", ["patch": ["limits": ["max_depth": 1]]])
            try await client.call("dispatcher.list")
            let found = lines.all("operated")
            let methods = found.map { $0.members["method"] }
            #expect(methods == ["dispatcher.pause", "queue.purge", "config.set", "config.reload"])
            let pause = try #require(found.first).members
            #expect(pause["object"] == "collect" && pause["reason"] == "a test" && pause["client"] == "ops/1")
            #expect(pause["uid"] == .number(DataNumber(Int(getuid()))) && pause["outcome"] == "done")
            #expect(pause["pid"] == .number(DataNumber(Int(getpid()))))
            #expect(found[1].members["object"] == "archive" && found[1].members["reason"] == .null)
            // The log contains the names of settings, never their values.
            #expect(found[2].members["object"] == "limits.max_depth, log_format")
            #expect(!found[2].message.contains(": 40"))
            let metrics = try await client.call("metrics")["metrics"].elements
            let samples = metrics.first { $0["name"] == "headgate_operations_total" }?["samples"].elements ?? []
            #expect(samples.contains(["labels": ["method": "dispatcher.pause"], "value": 1]))
        }
    }

    @Test("X7: a dry run is logged as such and not counted as a change; methods without `dry_run` ignore it")
    func dryRun() async throws {
        let lines = Lines()
        try await ServiceStage.run(adding: lines.adding) { stage in
            let client = try await stage.client("ops/1")
            let rule: DataItem = ["operator": "equals", "path": "event", "value": "order"]
            try await client.call("store.erase", ["when": rule, "dry_run": true])
            try await client.call("dispatcher.pause", ["id": "collect", "dry_run": true])
            #expect(lines.all("operated").map { $0.members["outcome"] } == ["dry run", "done"])
            #expect(try await stage.inspect { $0.operations.done } == ["dispatcher.pause": 1])
        }
    }

    @Test("X7: a change is logged even if its client disconnects before its end")
    func disconnected() {
        #expect(Operation.Outcome.disconnected.mayHaveChanged && Operation.Outcome.done.mayHaveChanged)
        #expect(Operation.Outcome.failed(RPCError(.storage)).mayHaveChanged)
        #expect(!Operation.Outcome.failed(RPCError(.notFound)).mayHaveChanged)
    }

    @Test("X7: refused calls are counted by method; a burst is logged once, with the user and the missing right")
    func refused() async throws {
        let lines = Lines()
        try await ServiceStage.run(timeStands: true, adding: lines.adding) { stage in
            let client = try await stage.client("shop/2")
            try await client.call("ping")
            try await disguise(stage)
            let patch: DataItem = ["durability": "memory", "limits": ["max_depth": 40]]
            for _ in 1...50 {
                let error = try await client.refusal("config.set", ["patch": patch])
                #expect(error.reason == "unauthorized")
            }
            #expect(try await stage.inspect { $0.limits.maxDepth } == Limits().maxDepth)
            let found = lines.all("calls_refused")
            #expect(found.count == 1)
            let line = try #require(found.first)
            #expect(line.members["uid"] == 45_001 && line.members["group"] == "configure")
            #expect(line.members["method"] == "config.set" && !line.message.contains("memory"))
            #expect(lines.all("operated").isEmpty)
            #expect(try await stage.inspect { $0.operations.refused } == ["config.set": 50])
        }
    }

    @Test("X7: a user cannot cause more log lines about refused calls by changing its client names")
    func names() {
        func line(_ client: String, _ uid: Int) -> LogLine {
            LogLine(.callsRefused, ["client": .string(client), "uid": .number(DataNumber(uid)), "method": "status"])
        }
        #expect(line("a", 7).burstKey == line("b", 7).burstKey)
        #expect(line("a", 7).burstKey != line("a", 8).burstKey)
    }

    @Test("X1: settings may restrict a dispatcher's workers, which ends the subscriptions of other users")
    func workers() async throws {
        let settings: DataObject = ["dispatchers": ["jobs": ["kind": "worker", "workers": ["uids": [45_002]]]]]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await client.call("ping")
            // The daemon's own user may subscribe to any dispatcher.
            try await client.call("dispatcher.subscribe", ["id": "jobs"])
            try await client.call("dispatcher.unsubscribe", ["id": "jobs"])
            var access = AccessSettings()
            access.serve.grant(45_001)
            try await disguise(stage, access)
            let error = try await client.refusal("dispatcher.subscribe", ["id": "jobs"])
            #expect(error.reason == "unauthorized" && error.message.contains("dispatchers.jobs.workers"))
            func restrict(_ uid: Int) async throws {
                let admin = try await stage.client()
                let workers: DataObject = ["uids": [.number(DataNumber(uid))]]
                try await admin.call("config.set", ["patch": ["dispatchers": ["jobs": ["workers": .object(workers)]]]])
            }
            try await restrict(45_001)
            try await client.call("dispatcher.subscribe", ["id": "jobs"])
            try await restrict(45_002)
            #expect(try await client.notification()["reason"] == "unauthorized")
        }
    }
}

extension AccessSettings.Grant {
    fileprivate mutating func grant(_ uid: UInt32) { self = AccessSettings.Grant(uids: [uid]) }
}
