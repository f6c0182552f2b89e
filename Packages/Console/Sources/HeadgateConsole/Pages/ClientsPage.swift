import HeadgateClient
import HeadgateData
import HeadgateText

/// The page of the connected clients, and of the counters of all clients.
struct ClientsPage {
    let state: DaemonState

    /// The regions that change.
    var regions: [Region] {
        [Region(id: "clients", html: clients), Region(id: "totals", html: totals)]
    }

    /// The body of the page.
    var html: HTML {
        """
        <section aria-labelledby="totals-title"><h2 id="totals-title">Totals</h2>
        <div id="totals">\(totals)</div></section>
        <section aria-labelledby="clients-title"><h2 id="clients-title">Connected now</h2>
        <div id="clients">\(clients)</div></section>

        """
    }

    /// The most clients in the table. Clients that the daemon does not read come first, then the oldest connections.
    private static let mostShown = 200

    private var clients: HTML {
        guard let all = state.clients else {
            return "<p class=\"nothing\">Not available: the daemon cannot be reached or is older than the console.</p>"
        }
        var table = PageTable("Connected clients", Self.columns)
        let stopped = all.filter { $0.traffic?.stopped != nil }
        let others = all.filter { $0.traffic?.stopped == nil }
        for client in (stopped + others).prefix(Self.mostShown) { table.add(row(client)) }
        let more = all.count - Self.mostShown
        let rest: HTML = more > 0 ? "<p>And \(Formatting.count(more)) more.</p>" : ""
        return table.html(orElse: "No clients are connected.") + rest
    }

    private static let columns: [PageTable.Column] = [
        .init(name: "Session"), .init(name: "Client"), .init(name: "PID", isNumeric: true),
        .init(name: "UID", isNumeric: true), .init(name: "Connected", isNumeric: true),
        .init(name: "Received", isNumeric: true), .init(name: "Duplicates", isNumeric: true),
        .init(name: "Rejected", isNumeric: true), .init(name: "Failed", isNumeric: true),
        .init(name: "Unanswered", isNumeric: true), .init(name: "Reading"),
    ]

    private func row(_ client: ListedClient) -> [HTML] {
        let who: [HTML] = [
            "\(client.session)", "\(client.client ?? "unnamed")", "\(client.pid.map(String.init) ?? "–")",
            "\(client.uid.map(String.init) ?? "–")",
        ]
        guard let traffic = client.traffic else { return who + Self.columns.dropFirst(who.count).map { _ in "–" } }
        let counts = [traffic.received, traffic.duplicates, traffic.rejected, traffic.failed, traffic.unanswered]
        return who + ["\(Quantity.time(traffic.connected))"] + counts.map(Formatting.count) + [reading(traffic)]
    }

    private func reading(_ traffic: ListedClient.Traffic) -> HTML {
        guard let stop = traffic.stopped else { return Formatting.badge("yes", .good) }
        return "\(Formatting.badge("paused for \(Quantity.time(stop.duration))", .held)) \(stop.words)"
    }

    /// The counters of all clients, including those that have left.
    private var totals: HTML {
        let counters = [
            ("received", "events received"), ("duplicates", "duplicate events"),
            ("unrouted", "events without a dispatcher"), ("rejected", "events refused"),
            ("failed_notifications", "failed notifications"), ("line_too_long", "lines too long"),
            ("rejected_connections", "connections refused"),
            ("slow_readers_closed", "connections closed as slow readers"),
        ]
        let cells = counters.map { Formatting.figure($1, Formatting.count(state.counter($0))) }
        return "<dl class=\"figures\">\(cells)\(stops)</dl>"
    }

    /// The number of times that the daemon stopped reading a client until it had room, if the daemon reports it.
    private var stops: HTML {
        guard let stops = state.metrics?.value("headgate_paused_readings_total") else { return "" }
        return Formatting.figure("pauses of reading", Formatting.count(Int(stops)))
    }
}
