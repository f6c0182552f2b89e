import HeadgateClientTesting
import HeadgateData
import Testing

@testable import HeadgateCommands

/// Tests the findings, which depend on the facts alone.
@Suite struct FindingTests {
    @Test("A missing, wrong or forbidden socket is a fault, with the next step")
    func socket() {
        func finding(_ fileKind: SocketFacts.FileKind, mayConnect: Bool = false) -> Finding {
            SocketFacts(path: "/s", fileKind: fileKind, mayConnect: mayConnect, group: "headgate", user: "ann").finding
        }
        #expect(finding(.nothing).verdict == .wrong)
        #expect(finding(.somethingElse).verdict == .wrong)
        #expect(finding(.unreachable(why: "Permission denied")).words.contains("Permission denied"))
        #expect(finding(.socket).advice == "add the user to its group and log in again: usermod -aG headgate ann")
        #expect(finding(.socket, mayConnect: true).verdict == .fine)
    }

    private func status(_ change: (inout DataObject) -> Void = { _ in }) -> DataObject {
        var status: DataObject = [
            "version": "1.0", "uptime_ms": 5_000, "ready": true, "warnings": [], "counters": [:],
            "dispatchers": [["id": "collect", "state": "open", "pending": 0, "sent": 7]],
        ]
        change(&status)
        return status
    }

    private func verdicts(_ change: (inout DataObject) -> Void = { _ in }) -> [Finding.Verdict] {
        DaemonCheck.findings(status(change), version: "1.0").map(\.verdict)
    }

    @Test("All findings about a healthy daemon are fine")
    func well() {
        #expect(verdicts() == [.fine, .fine])
    }

    @Test("A daemon is judged by its version, its readiness, its warnings, what it lost, and its dispatchers")
    func daemon() {
        #expect(verdicts { $0["version"] = "0.9" } == [.doubtful, .fine])
        #expect(verdicts { $0["ready"] = false } == [.wrong, .fine])
        #expect(verdicts { $0["warnings"] = ["the network cannot be watched"] } == [.fine, .doubtful, .fine])
        #expect(verdicts { $0["counters"] = ["evicted": 3, "delivered": 9] } == [.fine, .doubtful, .fine])
        #expect(verdicts { $0["dispatchers"] = [] } == [.fine, .wrong])
    }

    @Test("C2: doctor says whether the store is encrypted, what is left, and whether the key file is open to others")
    func encryption() {
        func findings(_ encryption: DataItem) -> [Finding] {
            EncryptionCheck.findings(["store": ["encryption": encryption]])
        }
        func state(_ key: DataItem, left: Int, rewriting: Bool = false, exposed: Bool = false) -> DataItem {
            [
                "key": key, "bytes_left": .number(DataNumber(left)), "rewriting": .bool(rewriting),
                "key_file_exposed": .bool(exposed),
            ]
        }
        #expect(findings(.null).map(\.words) == ["the store is not encrypted"])
        #expect(findings(state(2, left: 0)) == [.fine("encryption", "the store is encrypted with key 2")])
        #expect(findings(state(2, left: 9, rewriting: true)).map(\.verdict) == [.doubtful])
        #expect(findings(state(2, left: 9)).first?.advice?.contains("headgate rekey") == true)
        #expect(findings(state(.null, left: 9)).first?.words.contains("being decrypted") == true)
        #expect(findings(state(.null, left: 0)).first?.advice?.contains("remove store.encryption") == true)
        #expect(findings(state(2, left: 0, exposed: true)).map(\.verdict) == [.fine, .wrong])
    }

    @Test("A dispatcher whose last attempt failed is a fault, and a blocked one with a backlog is a warning")
    func dispatchers() {
        let failing: DataItem = ["id": "a", "state": "blocked", "pending": 3, "last_error": "HTTP 503"]
        let held: DataItem = ["id": "b", "state": "blocked", "pending": 3, "blocked_by": ["night"]]
        let idle: DataItem = ["id": "c", "state": "blocked", "pending": 0, "blocked_by": ["night"]]
        #expect(verdicts { $0["dispatchers"] = .array([failing, held, idle]) } == [.fine, .wrong, .doubtful, .fine])
        let timed: DataItem = [
            "id": "a", "state": "blocked", "last_error": "HTTP 503", "last_error_at": Fixed.ago(180),
        ]
        let findings = DaemonCheck.findings(
            status { $0["dispatchers"] = .array([timed]) }, version: "1.0", clock: Fixed.clock)
        #expect(findings.last?.words == "last error 3 min ago: HTTP 503; 0 events pending")
        // No attempt follows if nothing is pending.
        #expect(findings.last?.advice?.contains("`headgate dead-letters --dispatcher a`") == true)
    }

    @Test(
        "The advice for a dispatcher names the certificates or the login if the last error is about them",
        arguments: [
            ("TLS: certificate expired", "the files of `tls`"), ("NATS: authorization violation", "the login"),
            ("Kafka: authentication failed", "the login"), ("HTTP 403", "the login"),
            ("HTTP 503", "check the destination;"), ("connection refused", "check the destination;"),
        ])
    func lastError(error: String, advice: String) {
        let failing: DataItem = ["id": "a", "state": "blocked", "pending": 3, "last_error": .string(error)]
        let findings = DaemonCheck.findings(
            status { $0["dispatchers"] = .array([failing]) }, version: "1.0", clock: Fixed.clock)
        #expect(findings.last?.advice?.contains(advice) == true)
    }

    @Test("Q4: a nearly full store is a warning, and the finding names the senders that fill it")
    func store() {
        func finding(_ events: Int, of limit: Int, sent pending: Int) -> Finding? {
            StoreCheck(
                ["store": ["events": .number(DataNumber(events)), "bytes": 5]],
                settings: ["store": ["max_events": .number(DataNumber(limit)), "max_bytes": 1_000]],
                clients: [
                    "senders": [
                        [
                            "uid": 1_000, "namespace": "uid:1000/shop",
                            "pending_events": .number(DataNumber(pending)),
                        ]
                    ]
                ]
            ).finding
        }
        #expect(finding(0, of: 10, sent: 0) == nil)
        #expect(
            finding(100, of: 1_000, sent: 0) == .fine("store", "10 % full, 100 events"))
        let full = finding(950, of: 1_000, sent: 931)
        #expect(full?.verdict == .doubtful)
        #expect(full?.words == "95 % full, 950 events; shop of uid 1000 sent 98 % of the pending events")
    }

    private func disk(_ change: (inout MachineFacts.Disk) -> Void = { _ in }) -> Finding.Verdict? {
        var disk = MachineFacts.Disk(
            directory: "/d", freeBytes: 1 << 34, totalBytes: 1 << 36, freeFiles: 1_000, kind: 0xEF53, isReadOnly: false)
        change(&disk)
        return MachineFacts(disk: disk).findings.first?.verdict
    }

    @Test(
        "A full, read-only or in-memory disk is a fault; a nearly full or a network one is a warning"
    )
    func disks() {
        #expect(disk() == .fine)
        #expect(disk { $0.freeBytes = 1 << 20 } == .wrong)
        #expect(disk { $0.freeFiles = 0 } == .wrong)
        #expect(disk { $0.isReadOnly = true } == .wrong)
        #expect(disk { $0.kind = 0x0102_1994 } == .wrong)
        #expect(disk { $0.kind = 0x6969 } == .doubtful)
        #expect(disk { $0.freeBytes = 1 << 31 } == .doubtful)
    }

    @Test("Too few descriptors, a clock in the past and no memory are faults; unknown values are not judged")
    func machine() {
        func verdict(_ facts: MachineFacts) -> Finding.Verdict? { facts.findings.first?.verdict }
        #expect(MachineFacts(connections: 4_096).findings.isEmpty)
        #expect(verdict(MachineFacts(descriptors: 1_024, connections: 4_096)) == .wrong)
        #expect(verdict(MachineFacts(descriptors: 65_536, connections: 4_096)) == .fine)
        #expect(verdict(MachineFacts(isClockKept: true, year: 1_970)) == .wrong)
        #expect(verdict(MachineFacts(isClockKept: false, year: 2_030)) == .doubtful)
        #expect(verdict(MachineFacts(freeMemory: 1 << 20)) == .wrong)
    }

    @Test("Destinations are those of HTTP, NATS and Kafka, with their settings of TLS and formats")
    func destinations() {
        let settings: DataObject = [
            "dispatchers": [
                "a": [
                    "kind": "http", "endpoint": "collector.example/e", "tls": ["ca_file": "/ca"], "format": "envelope",
                ],
                "b": ["kind": "nats", "servers": ["nats://user:secret@one:4333", "two"]],
                "c": ["kind": "file", "path": "x"], "d": ["kind": "http", "endpoint": "http://h", "method": "GET"],
                "e": ["kind": "kafka", "brokers": ["k1:9093", "k2", "[::1]"], "topic": "t"],
            ]
        ]
        let all = Destination.all(in: settings)
        #expect(all.map(\.dispatcher) == ["a", "b", "b", "d", "e", "e", "e"])
        let brokers = ["http://k1:9093", "http://k2:9092", "http://[::1]:9092"]
        let others = ["https://collector.example/e", "http://one:4333", "http://two:4222", "http://h"]
        #expect(all.map(\.url) == others + brokers)
        let shown = all.map { $0.finding(.reached(status: nil)).words }
        #expect(shown.suffix(3) == ["k1:9093", "k2:9092", "[::1]:9092"].map { "\($0) can be reached" })
        #expect(all[0].caFile == "/ca")
        #expect(all[0].emptyBatch?.body == #"{"schema":"","data":[]}"#)
        #expect(all[3].emptyBatch == nil)
    }

    @Test("A destination of CloudEvents batches is tried with an empty batch; single events only by a connection")
    func cloudEventDestinations() {
        let settings: DataObject = [
            "dispatchers": [
                "a": ["kind": "http", "endpoint": "http://h", "format": "cloudevents", "cloudevents_source": "/s"],
                "b": ["kind": "http", "endpoint": "http://h", "format": "cloudevents_single"],
            ]
        ]
        let type = "application/cloudevents-batch+json; charset=UTF-8"
        let batches = Destination.all(in: settings).map(\.emptyBatch)
        #expect(batches == [Destination.EmptyBatch(body: "[]", contentType: type), nil])
    }

    @Test("K7: an OpenTelemetry destination is tried by a connection, without a batch")
    func openTelemetryDestination() {
        let all = Destination.all(in: ["dispatchers": ["a": ["kind": "otlp", "endpoint": "collector.example:4318"]]])
        #expect(all.map(\.url) == ["https://collector.example:4318"] && all.map(\.emptyBatch) == [nil])
    }

    @Test("A destination's answer to an empty batch is fine if it accepted or rejected it, and shows no secret")
    func answers() {
        let destination = Destination(dispatcher: "a", url: "https://user:secret@host/p@th")
        for status in [200, 204, 400, 422, nil] {
            #expect(destination.finding(.reached(status: status)).verdict == .fine)
        }
        for status in [401, 403] { #expect(destination.finding(.reached(status: status)).verdict == .doubtful) }
        for status in [301, 404, 500] { #expect(destination.finding(.reached(status: status)).verdict == .wrong) }
        let failed = destination.finding(.failed("Could not resolve host: host"))
        #expect(failed.verdict == .wrong)
        #expect(failed.words == "https://***@host/p@th: Could not resolve host: host")
        #expect(destination.finding(.cannotTry).verdict == .unknown)
    }

    @Test(
        "X4: no part of a password is shown, whatever is in it",
        arguments: [
            ("https://user:se@cret@host/p", "https://***@host/p"), ("https://user:se@cret@host", "https://***@host"),
            ("https://user:se/cret@host/p", "https://***@host/p"),
            ("https://user:se?cret@host/p", "https://***@host/p"),
            ("https://user:se#cret@host/p", "https://***@host/p"),
            ("https://token@host?a=b@c", "https://***@host?a=b@c"),
            ("https://host:80/p@th", "https://host:80/p@th"), ("https://[::1]/p@th", "https://[::1]/p@th"),
            ("https://[::1]:80/p@th", "https://[::1]:80/p@th"), ("https://host/p@th", "https://host/p@th"),
        ])
    func passwords(url: String, shown: String) {
        let finding = Destination(dispatcher: "a", url: url).finding(.failed("why"))
        #expect(finding.words == "\(shown): why")
    }

    @Test("Each finding has a line, with the next step below it, and the counts are at the end")
    func text() {
        let text = FindingsText(style: Style(isColoured: false)).text([
            .fine("disk", "room"), .wrong("collect", "is away", "see to it"), .doubtful("clock", "is odd"),
        ])
        #expect(
            text == """
                ok     disk     room
                ERROR  collect  is away
                                → see to it
                warn   clock    is odd

                1 error, 1 warning.

                """)
        #expect(FindingsText(style: Style(isColoured: false)).text([]) == "\nNo problems found.\n")
    }
}

/// Tests the command with a daemon on a real socket.
@Suite(.timeLimit(.minutes(5))) struct DoctorCommandTests {
    @Test("doctor: exit code 1 after a fault, such as a destination that refuses connections, which is named")
    func wrong() async throws {
        try await withDaemon { daemon in
            await daemon.answer(
                "status",
                with: [
                    "version": .string(Version.current), "ready": true,
                    "dispatchers": [["id": "collect", "state": "open", "pending": 0]],
                ])
            await daemon.answer(
                "config.get",
                with: ["dispatchers": ["collect": ["kind": "http", "endpoint": "http://127.0.0.1:1/events"]]])
            let run = try await ToolRun.run(["doctor"], on: daemon)
            #expect(run.exitCode == .failure)
            #expect(run.output.contains("http://127.0.0.1:1/events"))
            #expect(run.output.contains("may connect to"))
            let json = try await ToolRun.run(["doctor", "--json"], on: daemon)
            #expect(json.output.contains(#""subject":"collect","verdict":"wrong""#))
        }
    }
}
