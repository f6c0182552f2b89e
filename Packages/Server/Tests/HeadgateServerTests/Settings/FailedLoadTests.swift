import Foundation
import HeadgateData
import Synchronization
import Testing

@testable import HeadgateServer

@Suite("Warnings about settings that are refused or cannot be loaded", .timeLimit(.minutes(5)))
struct FailedLoadTests {
    private static let good = #"{"dispatchers": {"collect": {"dispatch_limit": 3}}}"#

    @Test("S1, S2: if a reload refuses the file, status has a warning until a reload succeeds")
    func file() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let original = try String(contentsOfFile: stage.folder("headgate.json"), encoding: .utf8)
            #expect(try await isWhole("file", client) == 1)
            for wrong in [#"{"dispatchers": {"collect": {"kind": "pigeon"}}}"#, "no settings"] {
                _ = try stage.folder.write(wrong, to: "headgate.json")
                _ = try await client.refusal("config.reload")
                #expect(try await warnings(client) { $0.hasPrefix("the configuration file is refused since ") })
                #expect(try await isWhole("file", client) == 0)
                // A change of another layer does not remove the warning.
                try await client.call("config.set", ["patch": ["shutdown_timeout_ms": 1]])
                #expect(try await isWhole("file", client) == 0)
            }
            _ = try stage.folder.write(original, to: "headgate.json")
            try await client.call("config.reload")
            #expect(try await client.call("status")["warnings"] == [])
            #expect(try await isWhole("file", client) == 1)
        }
    }

    @Test(
        "S1, S2: if remote settings are refused or cannot be fetched, status has a warning until a fetch succeeds",
        arguments: [
            ("200 OK", #"{"limits": {"max_depth": 1}}"#, "limits.max_depth: "), ("200 OK", "[]", "are refused since"),
            ("500 Internal Server Error", "", "HTTP 500"),
        ])
    func remote(status: String, body: String, words: String) async throws {
        let answer = Mutex((status: "200 OK", body: FailedLoadTests.good))
        let server = try ScriptedServer { request in
            let (status, body) = answer.withLock { $0 }
            guard body == FailedLoadTests.good else { return .status(status, body: body) }
            let isKnown = request.headers["if-none-match"] == "\"good\""
            return isKnown ? .status("304 Not Modified") : .status(status, headers: ["ETag: \"good\""], body: body)
        }
        defer { server.stop() }
        try await ServiceStage.run(["remote": ["url": .string(server.url), "refresh_s": 1]]) { stage in
            let client = try await stage.client()
            while try await client.call("config.get", ["layer": "remote"]) == [:] { await Task.yield() }
            #expect(try await client.call("status")["warnings"] == [])
            answer.withLock { $0 = (status, body) }
            while try await isWhole("remote", client) == 1 { await Task.yield() }
            #expect(try await warnings(client) { $0.hasPrefix("remote: ") && $0.contains(words) })
            #expect(try await client.call("config.get")["dispatchers"]["collect"]["dispatch_limit"] == 3)
            answer.withLock { $0 = ("200 OK", Self.good) }
            while try await isWhole("remote", client) == 0 { await Task.yield() }
            #expect(try await client.call("status")["warnings"] == [])
        }
    }

    @Test("S1: if a start ignores the copy of remote settings, the warning ends when the server sends valid ones")
    func copy() async throws {
        let server = try ScriptedServer { _ in .status("200 OK", body: Self.good) }
        defer { server.stop() }
        let copy = #"{"url": "\#(server.url)", "settings": {"limits": {"max_depth": 1}}}"#
        let adding: ServiceStage.Adding = { configuration in
            let directory = configuration.options.dataDirectory ?? ""
            try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try? copy.write(toFile: "\(directory)/remote-settings.json", atomically: true, encoding: .utf8)
        }
        try await ServiceStage.run(
            ["remote": ["url": .string(server.url), "refresh_s": 1]], adding: adding
        ) { stage in
            let client = try await stage.client()
            while try await client.call("config.get", ["layer": "remote"]) == [:] { await Task.yield() }
            #expect(try await client.call("status")["warnings"] == [])
        }
    }

    @Test("S1: the warning about refused settings has the first three faults and the time of the first refusal")
    func text() throws {
        var loads = FailedLoads()
        let faults = (1...5).map { SettingsFault(path: "a\($0)", message: "is wrong") }
        loads.refused(.remote, faults, at: Timestamp(milliseconds: 0))
        loads.refused(.remote, faults, at: Timestamp(milliseconds: 9_000))
        let warning = try #require(loads.warnings.first)
        #expect(
            warning.contains("since 1970-01-01T00:00:00.000Z: a1: is wrong; a2: is wrong; a3: is wrong; and 2 more"))
        loads.succeeded(.remote)
        #expect(loads.warnings.isEmpty)
    }

    /// Returns true if a warning of `status` satisfies a condition.
    private func warnings(_ client: LineClient, _ isIncluded: (String) -> Bool) async throws -> Bool {
        try await client.call("status")["warnings"].elements.contains { isIncluded($0.get(as: String.self) ?? "") }
    }

    private func isWhole(_ layer: String, _ client: LineClient) async throws -> Int? {
        let metrics = try await client.call("metrics")["metrics"].elements
        let metric = metrics.first { $0["name"] == "headgate_settings_last_load_successful" }
        let sample = metric?["samples"].elements.first { $0["labels"]["layer"] == .string(layer) }
        return sample?["value"].get(as: Int.self)
    }
}
