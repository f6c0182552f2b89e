import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Synchronization
import Testing

@testable import HeadgateCommands

/// Tests `headgate send` with a daemon on a real socket.
@Suite(.timeLimit(.minutes(5))) struct SendTests {
    @Test("send tracks one event with its data and prints its id")
    func one() async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(["send", "signup", "plan=pro", "n=1.10"], on: daemon)
            #expect(run.exitCode == .success)
            let record = await daemon.record
            #expect(run.output == (record.stored.first ?? "") + "\n")
            #expect(record.requests[0].params["event"] == "signup")
            let data = try #require(record.requests[0].params["data"])
            #expect(data.json == #"{"plan":"pro","n":1.10}"#)
        }
    }

    @Test("send --json prints the acknowledgement")
    func json() async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(["send", "x", "--json"], on: daemon)
            let id = await daemon.record.stored[0]
            #expect(run.output == "{\"id\":\"\(id)\",\"seq\":1}\n")
        }
    }

    @Test("P3: send says so when no dispatcher accepts the event")
    func unrouted() async throws {
        try await withDaemon { _ in
            .write(#"{"jsonrpc":"2.0","id":1,"result":{"id":"a","unrouted":true}}"#)
        } _: { daemon in
            let run = try await ToolRun.run(["send", "x"], on: daemon)
            #expect(run.exitCode == .failure && run.output.isEmpty)
            #expect(run.errors == "headgate: no dispatcher accepts this event: it was not stored\n")
            let json = try await ToolRun.run(["send", "x", "--json"], on: daemon)
            #expect(json.exitCode == .failure && json.output == "{\"id\":\"a\",\"unrouted\":true}\n")
        }
    }

    @Test("send has an option for each member of an event")
    func options() async throws {
        try await withDaemon { daemon in
            let words = [
                "send", "x", "--id", "one", "--key=k", "a=1", "--time", "2026-03-01T10:00:00+01:00", "--ttl", "1h30m",
                "--dispatcher", "b", "--dispatcher", "c",
            ]
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .success && run.output == "one\n", "\(run.errors)")
            let params = await daemon.record.requests[0].params
            #expect(
                DataItem.object(params).json
                    == #"{"event":"x","id":"one","data":{"a":1},"key":"k","time":"2026-03-01T09:00:00.000Z","#
                    + #""dispatchers":["b","c"],"ttl_ms":5400000}"#)
        }
    }

    @Test(
        "An invalid member, or one that is given with lines, is wrong usage",
        arguments: [
            ["send", "x", "--time", "noon"], ["send", "x", "--ttl", "5"], ["send", "--id", "a"],
            ["send", "--stdin", "--id", "a"], ["send", "--follow", "/nowhere", "--dispatcher", "a"],
            ["send", "x", "--line"], ["send", "--stdin", "--line", "--logfmt"], ["send", "--stdin", "--event", "x"],
        ])
    func badOptions(words: [String]) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .usage)
        }
    }

    @Test("send --stdin takes logfmt and plain lines as events of a name")
    func otherFormats() async throws {
        try await withDaemon { daemon in
            let logfmt = try await ToolRun.run(
                ["send", "--stdin", "--logfmt"], on: daemon,
                input: "time=2026-03-01T10:00:00Z level=warn msg=\"disk full\"\nnothing\n")
            #expect(logfmt.exitCode == .failure && logfmt.errors.contains("line 2: no pair like level=info"))
            let lines = try await ToolRun.run(
                ["send", "--stdin", "--line", "--event", "syslog"], on: daemon, input: "any \"text\"\r\n")
            #expect(lines.exitCode == .success, "\(lines.errors)")
            let params = await daemon.record.requests.filter { $0.method == "track" }.map(\.params)
            #expect(params[0]["event"] == "log" && params[0]["time"] == "2026-03-01T10:00:00.000Z")
            #expect(params[0]["data"]?.json == #"{"level":"WARNING","message":"disk full"}"#)
            #expect(params[1]["event"] == "syslog" && params[1]["data"]?.json == #"{"message":"any \"text\""}"#)
        }
    }

    @Test("send --stdin tracks each line as an event, in order and unchanged")
    func lines() async throws {
        try await withDaemon { daemon in
            let ids = (1...5_000).map { "l\($0)" }
            let input = ids.map { "{\"event\":\"line\",\"id\":\"\($0)\"}\n" }.joined()
            let run = try await ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(run.output == "5 000 events acknowledged\n")
            #expect(await daemon.record.stored == ids)
        }
    }

    @Test("send --stdin --json prints the acknowledgements, one a line")
    func linesJSON() async throws {
        try await withDaemon { daemon in
            let input = "{\"event\":\"x\",\"id\":\"a\"}\n{\"event\":\"x\",\"id\":\"a\"}"
            let run = try await ToolRun.run(["send", "--stdin", "--json"], on: daemon, input: input)
            #expect(
                run.output == """
                    {"id":"a","seq":1}
                    {"id":"a","seq":1,"duplicate":true}

                    """)
        }
    }

    @Test(
        "A bad line is reported with its number, whether the tool or the daemon finds it; the rest is sent, exit 1",
        arguments: [
            ("no json", "not JSON"), ("[]", "not an object"), (#"{"event":"bad"}"#, "the daemon says no"),
        ])
    func badLine(bad: String, problem: String) async throws {
        try await withDaemon { request in
            request.params["event"] == "bad" ? .refuse(RPCError(.eventTooLarge, "the daemon says no")) : .answer
        } _: { daemon in
            let input = "{\"event\":\"x\",\"id\":\"one\"}\n\n\(bad)\n{\"event\":\"x\",\"id\":\"four\"}\n"
            let run = try await ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            #expect(run.exitCode == .failure)
            #expect(run.errors == "headgate: line 3: \(problem)\n")
            #expect(run.output == "2 events acknowledged, 1 bad line\n")
            #expect(await daemon.record.stored == ["one", "four"])
        }
    }

    @Test(
        "A line that is refused temporarily is sent again until it is stored, and does not count as bad",
        arguments: [ErrorReason.queueFull, .storage, .limit])
    func refusedForTheMoment(reason: ErrorReason) async throws {
        let refusals = Mutex(0)
        try await withDaemon { request in
            let isRefused = refusals.withLock { count in
                if request.params["id"] == "l2" || request.params["id"] == "l3" { count += 1 }
                return count <= 2 && (request.params["id"] == "l2" || request.params["id"] == "l3")
            }
            return isRefused ? .refuse(RPCError(reason, "there is no room")) : .answer
        } _: { daemon in
            let input = (1...5).map { "{\"event\":\"line\",\"id\":\"l\($0)\"}\n" }.joined()
            let run = try await ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            #expect(run.exitCode == .success)
            #expect(run.output == "5 events acknowledged\n")
            #expect(run.errors.split(separator: "\n").count == 1 && run.errors.contains("there is no room"))
            // Only the refused events were sent again.
            #expect(await daemon.record.requests.count == 8)
            #expect(await Set(daemon.record.stored) == ["l1", "l2", "l3", "l4", "l5"])
        }
    }

    @Test("A byte order mark before the first line is passed over")
    func mark() async throws {
        try await withDaemon { daemon in
            let input = "\u{FEFF}{\"event\":\"x\",\"id\":\"one\"}\n"
            let run = try await ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(await daemon.record.stored == ["one"])
        }
    }

    @Test("Q7: send --stdin loses no event and stores none twice over connections that break")
    func losses() async throws {
        try await withDaemon {
            $0.number % 701 == 700 ? .breakInAnswer : .answer
        } _: { daemon in
            let ids = (1...3_000).map { "l\($0)" }
            let input = ids.map { "{\"event\":\"line\",\"id\":\"\($0)\"}\n" }.joined()
            let run = try await ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            #expect(run.exitCode == .success, "\(run.errors)")
            let record = await daemon.record
            #expect(record.stored == ids)
            #expect(record.connections > 3)
        }
    }

    @Test("Q7: send --stdin waits for a daemon that is killed and started again")
    func restart() async throws {
        try await withDaemon {
            $0.number == 1_000 ? .hold : .answer
        } _: { daemon in
            let ids = (1...2_000).map { "l\($0)" }
            let input = ids.map { "{\"event\":\"line\",\"id\":\"\($0)\"}\n" }.joined()
            async let run = ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            await daemon.wait { $0.held == 1 }
            await daemon.kill()
            try await daemon.start()
            #expect(try await run.exitCode == .success)
            #expect(await daemon.record.stored == ids)
        }
    }

    @Test("Input without a single event is a success", arguments: ["", "\n\n", "   "])
    func nothing(input: String) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(["send", "--stdin"], on: daemon, input: input)
            #expect(run.exitCode == .success)
            #expect(run.output == "0 events acknowledged\n")
        }
    }
}

@Suite struct InputLinesTests {
    private let text = "one\n\n  \r\ntwo\r\n\nthree\nvery long line\nlast"

    @Test("Line numbers count blank lines, and do not depend on the sizes of the reads", arguments: 1...50)
    func pieces(size: Int) {
        var lines = InputLines(longest: 8)
        var found: [String] = []
        func collect() {
            while let line = lines.next() {
                found.append("\(line.number) \(line.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "too long")")
            }
        }
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines.append(Array(bytes[start..<min(start + size, bytes.count)]))
            collect()
        }
        #expect(!found.contains { $0.hasPrefix("8") })
        lines.append([])
        collect()
        #expect(found == ["1 one", "4 two\r", "6 three", "7 too long", "8 last"])
        #expect(lines.isAtEnd)
    }

    @Test("An over-long last line is reported, too, and empty input has no lines")
    func ends() {
        var lines = InputLines(longest: 3)
        lines.append(Array("abcdef".utf8))
        #expect(lines.next() == nil)
        lines.append([])
        #expect(lines.next() == InputLines.Line(number: 1, bytes: nil))
        #expect(lines.next() == nil)
        var none = InputLines()
        none.append([])
        #expect(none.next() == nil)
    }

    @Test("A last line without a line end can be left out: its writer may have been killed in the middle")
    func unended() {
        var lines = InputLines(dropsUnendedLine: true)
        lines.append(Array("one\ntw".utf8))
        #expect(lines.next() == InputLines.Line(number: 1, bytes: Array("one".utf8)))
        lines.append([])
        #expect(lines.next() == nil && lines.isAtEnd)
    }
}

@Suite struct EventDataTests {
    @Test(
        "P6: a value that is JSON is taken as that, with all its digits; the rest is text",
        arguments: [
            ("n=1.10", #"{"n":1.10}"#), ("n=-3e400", #"{"n":-3e400}"#), ("b=true", #"{"b":true}"#),
            ("b=null", #"{"b":null}"#), (#"o={"a":[1]}"#, #"{"o":{"a":[1]}}"#), ("t=pro", #"{"t":"pro"}"#),
            ("t=", #"{"t":""}"#), ("t=a=b c", #"{"t":"a=b c"}"#), ("t=007", #"{"t":"007"}"#),
            (#"t="5""#, #"{"t":"5"}"#), ("t={broken", #"{"t":"{broken"}"#),
        ])
    func values(pair: String, json: String) throws {
        #expect(DataItem.object(try EventData.parse([pair])).json == json)
    }

    @Test("Pairs keep their order; of several with one key the last counts")
    func order() throws {
        let data = try EventData.parse(["b=1", "a=2", "b=3"])
        #expect(DataItem.object(data).json == #"{"b":3,"a":2}"#)
    }

    @Test("An operand without `=` is wrong usage", arguments: ["plan", "=x", ""])
    func noPair(text: String) {
        #expect(throws: UsageError(message: "send: \(text) is not of the form KEY=VALUE", command: "send")) {
            try EventData.parse([text])
        }
    }
}
