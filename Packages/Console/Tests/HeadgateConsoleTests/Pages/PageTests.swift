import Foundation
import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateWire
import Testing

@testable import HeadgateConsole

/// Tests the pages that the server renders.
@Suite("Pages")
struct PageTests {
    private static let hostile = "<img src=x onerror=alert(1)>"
    private let clock = WallClock(now: Timestamp(milliseconds: 1_700_000_000_000)) { _ in 0 }

    /// The state of a daemon in which every free text is hostile.
    private var state: DaemonState {
        var state = DaemonState()
        let id = DataItem.string(Self.hostile)
        let barrier: DataItem = [
            "id": id, "kind": id, "scopes": [id], "states": .object([Self.hostile: "closed"]), "flushable": false,
            "since": "2023-11-14T22:00:00.000Z", "owner": id, "word": id, "reason": id, "configuration": ["a": id],
        ]
        let dispatcher: DataItem = [
            "id": id, "kind": id, "state": "blocked", "blocked_by": [id], "pending": 3, "in_flight": 1, "sent": 9,
            "failed": 2, "dead": 1, "expired": 1, "evicted": 1, "oldest_ms": 5_000, "retry_at": nil,
            "last_error": id, "flushing": true,
        ]
        state.take(
            status: [
                "version": id, "uptime_ms": 1, "ready": true, "dispatchers": [dispatcher], "barriers": [barrier],
                "warnings": [id], "counters": ["received": 10, "quarantined": 2], "store": ["events": 3],
            ], at: clock.now)
        let client: DataObject = [
            "session": id, "client": id, "connected_ms": 5_000, "stopped": ["reason": id, "for_ms": 3],
        ]
        state.take(clients: [ListedClient(client)])
        return state
    }

    private func pages() throws -> [HTML] {
        let shell = PageFrame(state: state, clock: clock, socketPath: Self.hostile)
        let dispatcher = try #require(state.dispatchers.first)
        let event: DataObject = [
            "id": .string(Self.hostile), "event": .string(Self.hostile), "data": .string(Self.hostile),
        ]
        let contents = DispatcherPage.Contents(
            waiting: try PeekedEvents(["events": [.object(event)], "next": 4]),
            deadLetters: try DeadLetterPage([
                "dead_letters": [["event": .object(event), "answer": .string(Self.hostile)]]
            ]),
            settings: ["dispatchers": .object([Self.hostile: ["kind": .string(Self.hostile)]])])
        let own = DispatcherPage(state: state, history: History(), clock: clock, dispatcher: dispatcher)
        let trace: DataObject = [
            "event": .string(Self.hostile), "dispatchers": .object([Self.hostile: ["state": .string(Self.hostile)]]),
        ]
        let bodies = [
            OverviewPage(state: state, history: History(), time: 0).html, BarriersPage(state: state, clock: clock).html,
            ClientsPage(state: state).html, ProblemsPage(state: state, clock: clock).html,
            own.html(contents, controls: DispatcherForms(dispatcher: dispatcher).html),
            EventPage(state: state, clock: clock).html(Self.hostile, .events([trace])),
            EventPage(state: state, clock: clock).html(nil, .failed(Self.hostile)), StorePage(state: state).html,
            RewindPage(dispatcher: Self.hostile, clock: clock).html(Self.hostile, .refused(Self.hostile)),
            RewindPage(dispatcher: Self.hostile, clock: clock).html(Self.hostile, .possible(["events": 1])),
        ]
        return bodies.map { shell.html(.dispatcher(Self.hostile), Self.hostile, note: Self.hostile, $0) }
    }

    @Test("X3: no word of a client, a destination or the settings is markup on any page")
    func hostileWords() throws {
        for page in try pages() {
            #expect(page.text.contains("&lt;img"))
            #expect(!page.text.contains("<img src=x") && !page.text.contains("%3Cimg src"))
        }
    }

    @Test("No page loads anything from another host, or has inline scripts or styles")
    func ownFilesOnly() throws {
        for page in try pages() {
            for foreign in ["http:", "https:", "src=\"//", "<style", " style=", " onclick=", "javascript:"] {
                #expect(!page.text.contains(foreign), "\(foreign)")
            }
            #expect(page.text.components(separatedBy: "<script").count == 2)
        }
    }

    @Test("Each region that changes is on its page once, as it is in later updates")
    func regions() throws {
        let own = DispatcherPage(state: state, history: History(), clock: clock, dispatcher: state.dispatchers[0])
        let overview = OverviewPage(state: state, history: History(), time: 0)
        let barriers = BarriersPage(state: state, clock: clock)
        let clients = ClientsPage(state: state)
        let problems = ProblemsPage(state: state, clock: clock)
        let store = StorePage(state: state)
        let shell = PageFrame(state: state, clock: clock, socketPath: "/s")
        let pages: [([Region], HTML)] = [
            (overview.regions, overview.html), (barriers.regions, barriers.html), (clients.regions, clients.html),
            (problems.regions, problems.html), (store.regions, store.html),
            (own.regions, own.html(.init(), controls: "")),
            (shell.regions, shell.html(.overview, "x", "")),
        ]
        for (regions, html) in pages {
            for region in regions {
                let begin = html.text.components(separatedBy: "id=\"\(region.id)\"")
                #expect(begin.count == 2 && begin.last?.contains(region.html.text) == true, "\(region.id)")
            }
        }
    }

    @Test("O2: an event's page shows its state for each dispatcher, the blocking barrier, and its dead letter")
    func event() throws {
        var state = DaemonState()
        state.take(
            status: [
                "dispatchers": [["id": "web", "state": "blocked", "blocked_by": ["ManualBarrier:web"]]],
                "barriers": [
                    ["id": "ManualBarrier:web", "word": "manual", "states": ["web": "closed"], "reason": "the disk"]
                ],
            ], at: clock.now)
        let trace: DataObject = [
            "event": "order", "namespace": "uid:0", "seq": 7, "received_at": "2023-11-14T22:00:00.000Z",
            "dispatchers": [
                "web": ["state": "pending", "attempts": 2, "ahead": 4, "blocked_by": ["ManualBarrier:web"]],
                "archive": ["state": "dead", "at": "2023-11-14T22:00:01.000Z", "letter": 9, "last_error": "HTTP 400"],
            ],
        ]
        let html = EventPage(state: state, clock: clock).html("a", .events([trace])).text
        for part in [
            ">order</h2>", "pending", ">4</td>", "paused: the disk", "HTTP 400", "dead-letters?after=8", "22:00:01",
        ] {
            #expect(html.contains(part), "\(part)")
        }
    }

    @Test("R2: the preview of a rewind shows the number and times of its events, and confirms by sequence number")
    func rewind() {
        let page = RewindPage(dispatcher: "web", clock: clock)
        let preview: DataObject = [
            "first_seq": 1_007, "events": 1_200, "complete": true, "first_received_at": "2023-11-14T21:59:00.000Z",
            "last_received_at": "2023-11-14T22:00:00.000Z",
        ]
        let html = page.html("-2h", .possible(preview)).text
        for part in [
            "1\u{202F}200", "datetime=\"2023-11-14T21:59:00.000Z\"", "datetime=\"2023-11-14T22:00:00.000Z\"",
            "action=\"/dispatchers/web/rewind/confirmed\"", "name=\"to\" value=\"1007\"", "value=\"-2h\"",
        ] {
            #expect(html.contains(part), "\(part)")
        }
        #expect(!html.contains("incomplete"))
        let some = page.html("1", .possible(["first_seq": 1, "events": 1, "complete": false])).text
        #expect(some.contains("incomplete") && some.contains("store.retain"))
        let none = page.html("9", .possible(["first_seq": 9, "events": 0, "complete": true])).text
        #expect(none.contains("Nothing to send") && !none.contains("confirmed"))
        let refused = page.html("1", .refused("the store may no longer have all events from there on")).text
        #expect(refused.contains("The store may no longer have all events from there on."))
        #expect(!refused.contains("confirmed"))
    }

    @Test("R1, E2, C2: the page of the store shows its limits, what it retains, its encryption and an erasure")
    func store() {
        var state = DaemonState()
        func page(_ more: DataObject) -> String {
            var store: DataObject = [
                "kind": "log", "durability": "full", "events": 12_000, "bytes": 2_048, "oldest_ms": 5_000,
                "disk_bytes": 1_048_576, "dedupe": ["ids": 3],
                "retained": ["events": 7, "bytes": 1_536, "oldest_ms": 3_600_000],
            ]
            for (key, value) in more { store[key] = value }
            state.take(status: ["store": .object(store)], at: clock.now)
            return StorePage(state: state).html.text
        }
        let plain = page([:])
        for part in [
            "12\u{202F}000", "2.0 KiB", "5 s", "<dd>7</dd>", "1.5 KiB", "60 min", "1.0 MiB", "full",
            "The store is not encrypted.", "No erasure is in progress.",
        ] {
            #expect(plain.contains(part), "\(part)")
        }
        let limited: DataObject = [
            "metrics": [
                [
                    "name": "headgate_store_max_events", "type": "gauge", "help": "", "unit": nil,
                    "samples": [["labels": [:], "value": 50_000]],
                ]
            ]
        ]
        state.take(metrics: MetricTable(limited))
        #expect(StorePage(state: state).html.text.contains("of 50\u{202F}000"))
        let encryption: DataItem = ["key": 2, "bytes_left": 2_048, "rewriting": true, "key_file_exposed": true]
        let busy = page([
            "encryption": encryption,
            "erasure": ["step": "erasing", "events": 1, "dead_letters": 0, "seq": 4_000, "last_seq": 9_000],
        ])
        for part in [
            "rewritten under key 2: 2.0 KiB left", "key file exposed", "1 event and 0 dead letters so far",
            "scanned to event 4 000 of 9 000",
        ] {
            #expect(busy.contains(part), "\(part)")
        }
        #expect(page(["erasure": ["step": "removing", "events": 2]]).contains("being removed from the files"))
    }

    @Test("Settings are lines of a path and a value")
    func settings() {
        let lines = SettingsText.lines(["a": ["b": 1, "c": ["x", "y"]], "d": "text", "e": [:]])
        #expect(lines.map(\.path) == ["a.b", "a.c", "d", "e"])
        #expect(lines.map(\.value) == ["1", "[\"x\",\"y\"]", "text", "{}"])
    }

    @Test("B10: the picture names the closed gates in words, and its water ends at the first of them")
    func channel() throws {
        func gate(_ word: String, _ state: ListedBarrier.State) -> DaemonState.Gate {
            .init(barrier: ListedBarrier(["id": .string(word), "word": .string(word)]), state: state)
        }
        let dispatcher = ListedDispatcher(["id": "web", "state": "blocked"])
        let gates = [gate("manual", .open), gate("backoff", .closed), gate("own", .waiting)]
        let html = DispatcherDiagram(dispatcher: dispatcher, gates: gates, rate: 0).html.text
        #expect(html.contains("web is blocked. Barriers: manual open, backoff closed, own waiting."))
        #expect(html.contains("class=\"water\" x=\"0\" y=\"26\" width=\"50.0%\"") && !html.contains("class=\"flow\""))
        let open = DispatcherDiagram(dispatcher: dispatcher, gates: [gate("manual", .open)], rate: 2).html.text
        #expect(open.contains("width=\"100%\" height=\"20\"/><line class=\"flow\" x1=\"0\" x2=\"100%\""))
    }

    @Test(
        "O3: clients that are not read come first, with the reason; of very many clients a part is shown")
    func clients() throws {
        func page(_ clients: [DataObject]) -> String {
            var state = DaemonState()
            state.take(clients: clients.map(ListedClient.init))
            return ClientsPage(state: state).html.text
        }
        let read: DataObject = ["session": "session-1", "client": "shop/2.1", "connected_ms": 5_000, "received": 1_234]
        let stopped: DataObject = [
            "session": "session-2", "connected_ms": 5_000, "stopped": ["reason": "unread_answers", "for_ms": 3_000],
        ]
        let both = page([read, stopped])
        let first = try #require(both.range(of: "session-2")?.lowerBound)
        let second = try #require(both.range(of: "session-1")?.lowerBound)
        #expect(first < second && both.contains("paused for 3 s") && both.contains("does not read its answers"))
        #expect(both.contains("1\u{202F}234"))
        #expect(page(Array(repeating: read, count: 250)).contains("And 50 more."))
        #expect(
            page([]).contains("No clients are connected.")
                && ClientsPage(state: DaemonState()).html.text.contains("Not available"))
    }
}
