import HeadgateClient
import HeadgateCommands
import HeadgateData

/// Who is connected, and how the daemon got on with them all.
struct ClientsPage {
    let state: DaemonState

    /// What changes on it.
    var regions: [Region] {
        [Region(id: "clients", html: clients), Region(id: "totals", html: totals)]
    }

    /// All of it.
    var html: HTML {
        """
        <section aria-labelledby="totals-title"><h2 id="totals-title">All together</h2>
        <div id="totals">\(totals)</div></section>
        <section aria-labelledby="clients-title"><h2 id="clients-title">Connected now</h2>
        <div id="clients">\(clients)</div></section>

        """
    }

    private var clients: HTML {
        var table = PageTable(
            "Connected clients",
            [
                .init(name: "Connection"), .init(name: "Program"), .init(name: "Process", isNumeric: true),
                .init(name: "User", isNumeric: true),
            ])
        for client in state.clients ?? [] {
            table.add([
                "\(client.session)", "\(client.client ?? "did not say")", "\(client.pid.map(String.init) ?? "–")",
                "\(client.uid.map(String.init) ?? "–")",
            ])
        }
        return table.html(orElse: state.clients == nil ? "The list is on its way." : "Nobody is.")
    }

    /// What is counted of clients: the daemon counts for all of them, not for each.
    private var totals: HTML {
        let counters = [
            ("received", "events received"), ("duplicates", "sent twice, stored once"),
            ("unrouted", "wanted by no dispatcher"), ("rejected", "events refused"),
            ("failed_notifications", "messages without an id that failed"), ("line_too_long", "lines too long"),
            ("rejected_connections", "connections refused"),
            ("slow_readers_closed", "closed: they did not read their answers"),
        ]
        let cells = counters.map { Words.figure($1, Words.count(state.counter($0))) }
        return "<dl class=\"figures\">\(cells)\(stops)</dl>"
    }

    /// How often the daemon stopped reading somebody who had too much unanswered, where it tells.
    private var stops: HTML {
        guard let stops = state.metrics?.value("headgate_paused_readings_total") else { return "" }
        return Words.figure("times reading stopped until there was room", Words.count(Int(stops)))
    }
}
