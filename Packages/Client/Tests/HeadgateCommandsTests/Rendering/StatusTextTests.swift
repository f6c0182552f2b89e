import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// Tests the texts about the daemon.
@Suite struct StatusTextTests {
    @Test("Dispatchers are in a table, with their barriers and last errors in words below it")
    func dispatchers() {
        let words = DispatcherText(barriers: [Fixed.barrier(Fixed.manual)], clock: Fixed.clock, style: Fixed.style)
        #expect(
            words.list([ListedDispatcher(Fixed.collect)]) == """
                DISPATCHER  KIND  STATE    PENDING  IN FLIGHT  DELIVERED  FAILED  DEAD-LETTERED  OLDEST
                collect     http  blocked       12          0          3       1              0  2 min

                collect: blocked by ManualBarrier:collect since 11:58:00 (2 min): paused: maintenance; \
                `headgate resume collect` opens it; a flush does not pass it
                collect: is being flushed
                collect: last error: HTTP 503
                collect: 2 events expired

                """)
        #expect(words.list([]) == "There are no dispatchers.\n")
    }

    @Test("Q3: queues without a dispatcher are below the dispatchers, with the way to send their events")
    func orphans() {
        let words = OrphanText(clock: Fixed.clock, style: Fixed.style)
        let until = Fixed.clock.now
        let old: DataObject = ["id": "old", "events": 3, "oldest_ms": 120_000, "until": .string(until.text)]
        let text = words.list([ListedOrphan(old)])
        #expect(text.contains("REMOVED DISPATCHER  PENDING  OLDEST  KEPT UNTIL"))
        #expect(text.contains("old                       3  2 min"))
        #expect(text.contains(#"take over its events with "formerly": "old"; `headgate export old` prints them"#))
        #expect(words.list([]) == "")
    }

    @Test("F2: flushes in progress are shown with their user, and those without a timeout as such")
    func flushes() {
        let words = RunningFlushText(clock: Fixed.clock, style: Fixed.style)
        let since = Fixed.clock.now.text
        let flushes: [DataObject] = [
            ["flush": "f1", "uid": 1_000, "dispatchers": ["a", "b"], "since": .string(since), "timeout_ms": nil],
            ["flush": "f2", "uid": nil, "dispatchers": ["a"], "since": .string(since), "timeout_ms": 30_000],
        ]
        let lines = words.list(flushes.map(RunningFlush.init)).split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("FLUSH     UID  RUNNING FOR"))
        #expect(lines[1].contains("1000") && lines[1].contains("none") && lines[1].hasSuffix("a, b"))
        #expect(lines[2].contains("daemon") && lines[2].contains("30 s"))
        #expect(words.list([]) == "No flush is in progress.\n")
    }

    @Test("O3: clients are shown in a table, and below it why one is not read")
    func clients() {
        let words = ClientText(style: Fixed.style)
        let shop: DataObject = [
            "session": "session-7", "client": "shop/2.1", "uid": 1_000, "pid": 4_711, "connected_ms": 120_000,
            "received": 12, "duplicates": 1, "rejected": 0, "failed": 2, "unanswered": 3,
            "stopped": ["reason": "unread_answers", "for_ms": 4_000],
        ]
        #expect(
            words.list([ListedClient(shop)]) == """
                SESSION    CLIENT     PID   UID  CONNECTED  RECEIVED  DUPLICATES  REJECTED  FAILED  UNANSWERED
                session-7  shop/2.1  4711  1000      2 min        12           1         0       2           3

                session-7: the daemon has not read from it for 4 s: the client does not read its answers (limits.max_output_bytes)

                """)
        #expect(words.list([]) == "No clients are connected.\n")
    }

    @Test("Q4: the senders of pending events are shown in a table below the clients")
    func senders() {
        func sender(_ uid: DataItem, _ namespace: DataItem, _ pending: DataItem) -> DataItem {
            ["uid": uid, "namespace": namespace, "minute_events": 70, "pending_events": pending]
        }
        let list = ListedSender.list(in: [
            "senders": [
                sender(1_000, "uid:1000/shop", 9_800), sender(1_001, "uid:1001", 150), sender(33, "web", 50),
                sender(7, .null, 0), sender(.null, .null, 0),
            ]
        ])
        #expect(
            list.map(\.name) == [
                "shop of uid 1000", "uid 1001", "web of uid 33", "other namespaces of uid 7", "other users",
            ])
        #expect(
            ClientText(style: Fixed.style).senders(Array(list.prefix(2))) == """

                SENDER            STORED IN 1 MIN  PENDING
                shop of uid 1000               70     9800
                uid 1001                       70      150

                """)
        #expect(ClientText(style: Fixed.style).senders([]).isEmpty)
    }

    @Test("status shows the daemon first, then its warnings, then the dispatchers")
    func status() {
        let status: DataObject = [
            "version": "0.1.0", "uptime_ms": 7_500_000, "ready": true,
            "store": [
                "kind": "log", "durability": "full", "events": 12, "bytes": 3_500, "oldest_ms": 4_000,
                "disk_bytes": 16_777_216,
                "dedupe": ["ids": 12_345, "since": "2027-01-15T11:58:00.000Z"],
            ],
            "clients": 1, "network": ["state": "connected", "kind": "ethernet"],
            "dispatchers": [.object(Fixed.collect)], "barriers": [.object(Fixed.manual)],
            "warnings": ["barriers.x.scopes: there is no dispatcher y"],
            "counters": ["received": 1_234, "dead": 0, "line_too_long": 2],
        ]
        let text = StatusText(clock: Fixed.clock, style: Fixed.style).text(status)
        #expect(
            text.hasPrefix(
                """
                headgate  0.1.0, up 2 h 5 min, ready, 1 client
                store     log, durability full: 12 events, 3.4 KiB, the oldest 4 s old, 16.0 MiB on disk
                ids       12 345 remembered, the oldest 2 min old
                network   connected (ethernet)
                counters  received 1 234, line too long 2
                warning   barriers.x.scopes: there is no dispatcher y

                DISPATCHER
                """))
        #expect(text.contains("blocked by ManualBarrier:collect"))
    }

    @Test("An empty status is valid")
    func emptyStatus() {
        let text = StatusText(clock: Fixed.clock, style: Fixed.style).text([:])
        #expect(text.hasPrefix("headgate  ?, up 0 s, not ready, 0 clients\n"))
    }

    @Test("F2: a flush prints how it ended and how many events are left")
    func flush() throws {
        let answer = try FinishedFlush([
            "flush": "f", "ended": "timeout",
            "dispatchers": ["collect": ["sent": 1, "failed": 0, "left": 2, "blocked_by": ["a", "b"]]],
        ])
        #expect(
            FlushText(style: Fixed.style).text(answer) == """
                The flush timed out before all events were delivered or dropped.
                DISPATCHER  DELIVERED  FAILED  REMAINING  BLOCKED BY
                collect             1       0          2  a, b

                """)
    }

    @Test("P6: indented JSON is the same JSON")
    func indented() throws {
        let item: DataItem = ["a": [1, "x\n"], "b": [:], "c": ["d": [["e": nil]], "f": []]]
        let text = IndentedJSON.text(item)
        #expect(
            text == """
                {
                  "a": [1, "x\\n"],
                  "b": {},
                  "c": {
                    "d": [
                      {
                        "e": null
                      }
                    ],
                    "f": []
                  }
                }

                """)
        #expect(try DataItem(parsing: Array(text.utf8)) == item)
    }
}
