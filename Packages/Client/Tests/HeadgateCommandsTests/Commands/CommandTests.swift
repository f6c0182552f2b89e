import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// Tests the commands with a daemon on a real socket.
@Suite(.timeLimit(.minutes(5))) struct CommandTests {
    @Test(
        "Every command sends the request it is for",
        arguments: [
            (
                ["pause", "collect", "--reason", "why", "--flushable"], "dispatcher.pause",
                ["id": "collect", "reason": "why", "flushable": true]
            ),
            (["resume", "collect"], "dispatcher.resume", ["id": "collect"]),
            (["retry", "collect"], "dispatcher.retry", ["id": "collect"]),
            (["rewind", "collect", "--to", "-2h"], "dispatcher.rewind", ["id": "collect", "to": "-2h"]),
            (["rewind", "collect", "--to", "17"], "dispatcher.rewind", ["id": "collect", "to": 17]),
            (
                ["rewind", "collect", "--to", "17", "--dry-run"], "dispatcher.rewind",
                ["id": "collect", "to": 17, "dry_run": true]
            ),
            (["flush"], "flush", [:]), (["flushes"], "flush.list", [:]),
            (["flushes", "cancel", "f1"], "flush.cancel", ["flush": "f1"]),
            (["flush", "a", "b", "--timeout", "1.5"], "flush", ["dispatchers": ["a", "b"], "timeout_ms": 1_500]),
            (["config", "get"], "config.get", [:]),
            (["config", "get", "--layer", "file"], "config.get", ["layer": "file"]),
            (["config", "reload"], "config.reload", [:]),
            (
                ["config", "set", "a.b=1", #"a.c="x""#, "d=null"], "config.set",
                ["patch": ["a": ["b": 1, "c": "x"], "d": nil], "persist": false]
            ),
            (["config", "set", "a=[]", "--persist"], "config.set", ["patch": ["a": []], "persist": true]),
            (["status"], "status", [:]), (["metrics"], "metrics", [:]),
            (["peek", "collect"], "queue.peek", ["dispatcher": "collect"]),
            (
                ["peek", "collect", "--limit", "3", "--after", "7"], "queue.peek",
                ["dispatcher": "collect", "limit": 3, "after": 7]
            ),
            (
                ["dead-letters", "requeue", "7", "9", "--dispatcher", "a"], "dead_letters.requeue",
                ["dispatcher": "a", "letters": [7, 9]]
            ),
            (["dead-letters", "requeue"], "dead_letters.requeue", [:]),
            (["dead-letters", "purge", "7"], "dead_letters.purge", ["letters": [7]]),
        ] as [([String], String, DataObject)])
    func questions(words: [String], method: String, params: DataObject) async throws {
        try await withDaemon { daemon in
            await daemon.answer("queue.peek", with: ["events": []])
            await daemon.answer("dead_letters.requeue", with: ["count": 2])
            let metric: DataItem = [
                "name": "headgate_ready", "type": "gauge", "help": "", "samples": [["labels": [:], "value": 1]],
            ]
            await daemon.answer("metrics", with: ["metrics": [metric]])
            await daemon.answer("event.trace", with: ["events": [["id": "e1", "seq": 1]]])
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(!run.output.isEmpty)
            let record = await daemon.record
            // After a change of settings the command requests the daemon's warnings.
            let requested = record.requests.map(\.method)
            #expect(requested == [method] || words.first == "config" && requested == [method, "status"])
            #expect(record.requests.first?.params == params)
            #expect(record.greetings.first?["client"] == ["name": "headgate", "version": .string(Version.current)])
        }
    }

    @Test("S2: a reload names the changed settings, and those that take effect at the next start")
    func reloadText() async throws {
        try await withDaemon { daemon in
            await daemon.answer("config.reload", with: ["changed": ["store"]])
            await daemon.answer("status", with: ["warnings": ["store.kind: takes effect at the next start", "other"]])
            let run = try await ToolRun.run(["config", "reload"], on: daemon)
            #expect(run.output == "changed: store\n")
            #expect(run.errors.contains("store.kind: takes effect at the next start") && !run.errors.contains("other"))
        }
    }

    @Test("F4: cancelling all flushes ends if there is none, or only the daemon's own")
    func nothingToCancel() async throws {
        try await withDaemon { daemon in
            let own: DataItem = ["flush": "f1", "uid": nil, "dispatchers": [], "since": "2026-03-01T12:00:00.000Z"]
            for flushes in [[], [own]] as [[DataItem]] {
                await daemon.answer("flush.list", with: ["flushes": .array(flushes)])
                let run = try await ToolRun.run(["flushes", "cancel", "--all"], on: daemon)
                #expect(run.exitCode == .success && run.output == "0 flushes cancelled.\n", "\(run.errors)")
            }
        }
    }

    @Test("D5: a retry prints that the dispatcher retries, even if it was not backing off")
    func retryText() async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(["retry", "collect"], on: daemon)
            #expect(run.output == "collect retries now, or as soon as no other barrier blocks it.\n")
        }
    }

    @Test(
        "Q3: a requeue that leaves dead letters behind says so, and exits with 1",
        arguments: [(["7", "9"], 1, 0, 1), (["7", "9"], 2, 0, 0), ([], 0, 1, 1), ([], 0, 0, 0), ([], 3, 1, 0)])
    func incompleteRequeue(deadLetters: [String], count: Int, left: Int, code: Int32) async throws {
        try await withDaemon { daemon in
            await daemon.answer("dead_letters.requeue", with: ["count": .number(DataNumber(count))])
            let rest = (0..<left).map { DataItem.object(["letter": .number(DataNumber($0))]) }
            await daemon.answer("dead_letters.list", with: ["dead_letters": .array(rest)])
            let run = try await ToolRun.run(["dead-letters", "requeue"] + deadLetters, on: daemon)
            #expect(run.exitCode.rawValue == code, "\(run.errors)")
            #expect(run.errors.contains("not requeued") == (code == 1))
        }
    }

    @Test(
        "--json prints the daemon's answer as it came",
        arguments: ["status", "config get", "barriers", "dispatchers", "clients"])
    func json(command: String) async throws {
        try await withDaemon { daemon in
            for method in ["status", "config.get", "barrier.list", "dispatcher.list", "client.list"] {
                await daemon.answer(method, with: ["method": .string(method), "number": 3])
            }
            let words = command.split(separator: " ").map(String.init) + ["--json"]
            let run = try await ToolRun.run(words, on: daemon)
            let methods = [
                "status": "status", "config get": "config.get", "barriers": "barrier.list",
                "dispatchers": "dispatcher.list", "clients": "client.list",
            ]
            #expect(run.output == "{\"method\":\"\(methods[command] ?? "")\",\"number\":3}\n")
        }
    }

    @Test(
        "flush --wait: exit 0 when all is settled, else 1",
        arguments: [
            ("settled", ExitCode.success), ("timeout", .failure), ("cancelled", .failure),
        ])
    func flush(ended: String, code: ExitCode) async throws {
        try await withDaemon { daemon in
            await daemon.answer("flush", with: ["flush": "f", "ended": .string(ended), "dispatchers": [:]])
            let run = try await ToolRun.run(["flush", "--wait"], on: daemon)
            #expect(run.exitCode == code)
        }
    }

    @Test("dead-letters requests a page, and shows how to get the next")
    func deadLetters() async throws {
        try await withDaemon { daemon in
            await daemon.answer("dead_letters.list", with: ["dead_letters": [["letter": 4]], "next": 4])
            let run = try await ToolRun.run(
                ["dead-letters", "--dispatcher", "a", "--limit", "1", "--after", "3"], on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(await daemon.record.requests.first?.params == ["dispatcher": "a", "limit": 1, "after": 3])
            #expect(run.output.contains("headgate dead-letters --after 4"))
        }
    }

    @Test("requeue and purge print the number of events")
    func counted() async throws {
        try await withDaemon { daemon in
            await daemon.answer("dead_letters.requeue", with: ["count": 1])
            await daemon.answer("dead_letters.purge", with: ["count": 1_200])
            let requeue = try await ToolRun.run(["dead-letters", "requeue"], on: daemon)
            #expect(requeue.output == "1 dead letter is requeued.\n")
            let purge = try await ToolRun.run(["dead-letters", "purge"], on: daemon)
            #expect(purge.output == "1 200 dead letters are deleted.\n")
        }
    }

    @Test("Exit code 1: the daemon refuses, and says why")
    func refused() async throws {
        let refusal = RPCError(.notFound, "there is no dispatcher nowhere")
        try await withDaemon { _ in
            .refuse(refusal)
        } _: { daemon in
            let run = try await ToolRun.run(["pause", "nowhere"], on: daemon)
            #expect(run.exitCode == .failure)
            #expect(run.errors == "headgate: there is no dispatcher nowhere\n")
            #expect(run.output.isEmpty)
        }
    }

    @Test(
        "Exit code 2: wrong usage, which is reported without a request to the daemon",
        arguments: [
            ["send"], ["send", "x", "plan"], ["send", "x", "--stdin"], ["flush", "--timeout", "soon"], ["dance"],
            ["config", "set", "a"], ["config", "set", "a=b"], ["config", "set"], ["watch", "weather"], ["peek"],
            ["peek", "a", "--limit", "0"], ["dead-letters", "--limit", "many"], ["dead-letters", "purge", "all"],
            ["dead-letters", "requeue", "0"],
        ])
    func usage(words: [String]) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .usage)
            #expect(run.errors.contains("--help"))
            #expect(await daemon.record.connections == 0)
        }
    }

    @Test(
        "Exit code 3: no daemon answers, and the path is printed",
        arguments: [
            ["status"], ["send", "x"], ["send", "--stdin"], ["barriers"], ["watch"],
        ])
    func cannotConnect(words: [String]) async throws {
        try await withDaemon(listening: false) { daemon in
            let run = try await ToolRun.run(words, on: daemon, input: "{\"event\":\"x\"}\n")
            #expect(run.exitCode == .cannotConnect)
            #expect(run.errors.contains("cannot connect to \(daemon.path): no such socket\n"))
            #expect(run.errors.contains("headgate: Is headgated running?"))
        }
    }
}
