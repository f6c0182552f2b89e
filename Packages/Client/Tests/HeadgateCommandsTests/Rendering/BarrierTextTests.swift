import HeadgateClient
import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite struct BarrierTextTests {
    private let words = BarrierText(
        dispatchers: [DispatcherSummary(Fixed.collect)], clock: Fixed.clock, style: Fixed.style)

    @Test("B10: a line says what holds whom, since when, why, what would open it, and whether a flush passes")
    func manual() {
        #expect(
            words.list([Fixed.barrier(Fixed.manual)]) == """
                BARRIER                STATE
                ManualBarrier:collect  closed  holds collect since 11:58:00 (2 min): maintenance; \
                `headgate resume collect` opens it; a flush does not pass it

                """)
    }

    @Test(
        "B10: every kind says what would open it",
        arguments: [
            (
                "batching", ["batch_size": 10, "max_wait_ms": 5_000],
                "opens once 10 events or a whole batch are pending, or the oldest has waited 5 s"
            ),
            ("batching", [:], "opens once 1 event or a whole batch are pending"),
            ("backoff", [:], "opens at 12:01:30 for the next attempt"),
            ("connectivity", [:], "opens when there is a network connection"),
            ("connectivity", ["wifi_only": true], "opens when there is Wi-Fi or Ethernet"),
            ("schedule", ["start_hour": 9], "opens at 9:00"),
            ("interval", ["interval_ms": 60_000], "opens every 60 s"),
            ("rate", [:], "opens as its rate allows"),
            ("application_status", [:], "opens when a client comes to the foreground"),
            ("activation", [:], "opens when its board completes"),
            ("something", [:], "opens when its own condition holds"),
        ] as [(String, DataObject, String)])
    func opening(word: String, configuration: DataObject, text: String) {
        var entry = Fixed.manual
        entry["word"] = .string(word)
        entry["configuration"] = .object(configuration)
        #expect(words.opening(Fixed.barrier(entry)) == text)
    }

    @Test("B29: a remote barrier names its owner; B3: one that has not spoken is shown as waiting")
    func remote() {
        var entry = Fixed.manual
        entry["owner"] = "shop"
        #expect(words.opening(Fixed.barrier(entry)) == "opens when its owner, shop, says so")
        entry["states"] = ["collect": "waiting"]
        #expect(words.opening(Fixed.barrier(entry)) == "opens once it has said that it is open")
        #expect(words.list([Fixed.barrier(entry)]).contains("waiting  holds collect"))
    }

    @Test("Barriers that hold nobody say so")
    func harmless() {
        var entry = Fixed.manual
        entry["states"] = ["collect": "open", "archive": "open"]
        #expect(words.list([Fixed.barrier(entry)]).contains("open   lets collect, archive through"))
        entry["states"] = [:]
        #expect(words.list([Fixed.barrier(entry)]).contains("stands before collect, which is not there"))
        entry["scopes"] = []
        #expect(words.list([Fixed.barrier(entry)]).contains("off    stands before nothing"))
        #expect(words.list([]) == "There are no barriers.\n")
    }
}
