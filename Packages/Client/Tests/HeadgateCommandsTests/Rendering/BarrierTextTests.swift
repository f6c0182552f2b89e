import HeadgateClient
import HeadgateData
import HeadgateText
import Testing

@testable import HeadgateCommands

@Suite struct BarrierTextTests {
    private let words = BarrierText(dispatchers: [ListedDispatcher(Fixed.collect)], clock: Fixed.clock)

    private func list(_ barriers: [ListedBarrier]) -> String {
        BarrierList(text: words, style: Fixed.style).list(barriers)
    }

    @Test("B10: a line has the barrier, its dispatchers, time, reason, next step, and if a flush passes")
    func manual() {
        #expect(
            list([Fixed.barrier(Fixed.manual)]) == """
                BARRIER                STATE   BLOCKS
                ManualBarrier:collect  closed  collect since 11:58:00 (2 min): paused: maintenance; \
                `headgate resume collect` opens it; a flush does not pass it

                """)
    }

    @Test(
        "B10: every kind has its reason and its next step",
        arguments: [
            ("manual", [:], "paused: why", "`headgate resume collect` opens it"),
            (
                "batching", ["batch_size": 50, "max_wait_ms": 5_000], "12 of 50 events are pending",
                "opens once 50 events or a whole batch are pending, or the oldest event is 5 s old"
            ),
            ("batching", [:], "12 of 1 event are pending", "opens once 1 event or a whole batch are pending"),
            (
                "backoff", [:], "backing off after why",
                "next attempt at 12:01:30 (in 90 s); `headgate retry collect` retries now"
            ),
            ("connectivity", [:], "why", "opens when there is a network connection"),
            ("connectivity", ["wifi_only": true], "why", "opens when there is Wi-Fi or Ethernet"),
            ("schedule", [:], "why", "opens from 0:00 to 24:00"),
            (
                "schedule", ["start_hour": 9, "end_hour": 17, "days": ["mon", "tue"], "time_zone": "Europe/Berlin"],
                "why", "opens from 9:00 to 17:00 on mon, tue, Europe/Berlin"
            ),
            ("interval", [:], "between two intervals", "opens at the next interval"),
            (
                "interval", ["interval_ms": 60_000], "between two intervals", "opens every 60 s for 1 s"
            ),
            ("rate", ["per_second": 2.5], "why", "opens as the rate allows, 2.5 a second"),
            ("application_status", [:], "why", "opens when a client comes to the foreground"),
            ("activation", [:], "why", "opens when the board completes"),
            ("something", [:], "why", "opens when its condition is met"),
        ] as [(String, DataObject, String, String)])
    func kinds(word: String, configuration: DataObject, cause: String, opening: String) {
        let barrier = changed(["word": .string(word), "configuration": .object(configuration), "reason": "why"])
        #expect(words.cause(of: barrier, holding: ["collect"]) == cause)
        #expect(words.opening(of: barrier, holding: ["collect"]) == opening)
    }

    @Test(
        "B10: a barrier without a reason has them too",
        arguments: [
            ("manual", "paused, no reason given"), ("backoff", "backing off after a failure"),
            ("connectivity", "no suitable network connection"), ("schedule", "outside the schedule"),
            ("rate", "rate limit reached"), ("application_status", "every client is in the background"),
            ("activation", "the board has not completed"), ("something", nil),
        ] as [(String, String?)])
    func withoutReason(word: String, cause: String?) {
        let barrier = changed(["word": .string(word), "reason": nil])
        #expect(words.cause(of: barrier, holding: ["collect"]) == cause)
    }

    @Test("B10: a time in a reason is printed in the reader's time zone")
    func momentInReason() {
        let berlin = WallClock(now: Fixed.clock.now) { _ in 3_600 }
        let words = BarrierText(dispatchers: [], clock: berlin)
        let barrier = changed(["word": "schedule", "reason": "outside the schedule until 2027-01-15T14:00:00.000Z"])
        #expect(words.cause(of: barrier, holding: ["collect"]) == "outside the schedule until 15:00:00")
        let elsewhere = changed([
            "word": "schedule", "reason": "outside the schedule until 2027-01-15T14:00:00.000Z",
            "configuration": ["time_zone": "America/New_York"],
        ])
        #expect(
            words.cause(of: elsewhere, holding: ["collect"])
                == "outside the schedule until 15:00:00, this machine's time")
    }

    @Test("B22: a batching barrier shows the pending events of each known dispatcher, and no number for unknown ones")
    func batchingOfSeveral() {
        var archive = Fixed.collect
        archive["id"] = "archive"
        archive["pending"] = 1
        let both = BarrierText(
            dispatchers: [ListedDispatcher(Fixed.collect), ListedDispatcher(archive)], clock: Fixed.clock)
        let barrier = changed(["word": "batching", "configuration": ["batch_size": 20]])
        let cause = both.cause(of: barrier, holding: ["collect", "archive"])
        #expect(cause == "of 20 events, 12 for collect, 1 for archive are pending")
        #expect(both.cause(of: barrier, holding: ["archive"]) == "1 of 20 events is pending")
        #expect(both.cause(of: barrier, holding: ["elsewhere"]) == "less than a full batch of 20 events is pending")
    }

    @Test("B29: a remote barrier names its owner, or says that it has none; its reason is the owner's")
    func remote() {
        let owned = changed(["kind": "RemoteBarrier", "word": "hold", "owner": "shop", "reason": "stock-taking"])
        #expect(words.cause(of: owned, holding: ["collect"]) == "stock-taking")
        #expect(words.opening(of: owned, holding: ["collect"]) == "opens when its owner, shop, opens it")
        let left = changed(["kind": "RemoteBarrier", "word": "hold", "reason": "its owner shop has disconnected"])
        let opening = "opens when a client takes over the barrier and opens it"
        #expect(words.opening(of: left, holding: ["collect"]) == opening)
    }

    @Test("B3: a barrier without a state is shown as waiting")
    func waiting() {
        let barrier = changed(["states": ["collect": "waiting"], "reason": nil])
        #expect(words.cause(of: barrier, holding: ["collect"]) == "the barrier has not reported a state yet")
        #expect(words.opening(of: barrier, holding: ["collect"]) == "opens when the barrier reports the state open")
        #expect(list([barrier]).contains("waiting  collect"))
    }

    @Test("Barriers that block no dispatcher are listed briefly below those that do")
    func harmless() {
        let open = changed(["id": "open", "states": ["collect": "open", "archive": "open"]])
        let absent = changed(["id": "absent", "states": [:], "scopes": ["nowhere"]])
        let off = changed(["id": "off", "states": [:], "scopes": []])
        let list = self.list([open, absent, Fixed.barrier(Fixed.manual), off])
        #expect(list.hasPrefix("BARRIER                STATE   BLOCKS\nManualBarrier:collect  closed  collect"))
        #expect(list.hasSuffix("\n\nopen: open\nwithout a dispatcher: absent (nowhere)\ndisabled: off\n"))
        #expect(self.list([open]) == "No dispatcher is blocked.\n\nopen: open\n")
        #expect(self.list([]) == "There are no barriers.\n")
    }

    @Test("The barriers of a dispatcher are listed one by one, also one that is not in the list")
    func holders() {
        var entry = Fixed.collect
        entry["blocked_by"] = ["ManualBarrier:collect", "unheard"]
        let lines = words.holders(of: ListedDispatcher(entry), among: [Fixed.barrier(Fixed.manual)])
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("blocked by ManualBarrier:collect since 11:58:00 (2 min): paused: maintenance; "))
        #expect(lines[1] == "blocked by unheard")
    }

    private func changed(_ members: DataObject) -> ListedBarrier {
        var entry = Fixed.manual
        for (key, value) in members { entry[key] = value }
        return Fixed.barrier(entry)
    }
}
