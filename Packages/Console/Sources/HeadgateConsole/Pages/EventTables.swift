import HeadgateClient
import HeadgateData
import HeadgateText

/// Tables of a dispatcher's pending events and dead letters.
enum EventTables {
    /// The most rows of a table: `few` on a dispatcher's page, `many` on a page with one table.
    static let few = 10
    static let many = 100

    /// Returns a table of pending events, with a link to the next ones.
    static func waiting(_ page: PeekedEvents, for dispatcher: String, _ clock: WallClock) -> HTML {
        var table = PageTable(
            "Pending events of \(dispatcher)",
            [
                .init(name: "Sequence number", isNumeric: true), .init(name: "Event"), .init(name: "Id"),
                .init(name: "Received"), .init(name: "Contents"),
            ])
        for event in page.events {
            let received = event.get(key: "received_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
            table.add([
                Formatting.count(event.get(key: "seq") ?? 0), "\(event.get(key: "event") ?? "")", link(event),
                Formatting.moment(received, clock), contents(event),
            ])
        }
        return table.html(orElse: "No pending events.")
            + more(page.next.map { Route.Page.queue(dispatcher, after: $0) }, "Next events")
    }

    /// Returns a table of dead letters, with a link to the next ones.
    static func deadLetters(_ page: DeadLetterPage, of dispatcher: String, _ clock: WallClock) -> HTML {
        var table = PageTable(
            "Dead letters of \(dispatcher)",
            [
                .init(name: "Dead letter", isNumeric: true), .init(name: "Event"), .init(name: "Id"),
                .init(name: "Reason"),
                .init(name: "Attempts", isNumeric: true), .init(name: "Dead since"), .init(name: "Last answer"),
                .init(name: "Contents"),
            ])
        for deadLetter in page.deadLetters {
            let status: HTML = deadLetter.status.map { "\($0) " } ?? ""
            table.add([
                Formatting.count(deadLetter.number), "\(deadLetter.event?.get(key: "event") ?? "–")",
                deadLetter.event.map(link) ?? "–", "\(deadLetter.reason)", Formatting.count(deadLetter.attempts),
                Formatting.moment(deadLetter.diedAt, clock), status + "\(deadLetter.answer ?? "")" as HTML,
                deadLetter.event.map(contents) ?? "damaged",
            ])
        }
        return table.html(orElse: "No dead letters.")
            + more(page.next.map { Route.Page.deadLetters(dispatcher, after: $0) }, "Next dead letters")
    }

    private static func link(_ event: DataObject) -> HTML {
        let id = event.get(key: "id", as: String.self) ?? ""
        return "<a class=\"id\" href=\"\(Route.Page.event(id).target)\">\(id)</a>"
    }

    private static func contents(_ event: DataObject) -> HTML {
        let data = event["data"] ?? .object([:])
        let context = event["context"] ?? .object([:])
        return """
            <details><summary>Show</summary><pre>\(cut(data.json))</pre>\
            <p class="note">context <code>\(cut(context.json))</code></p></details>
            """
    }

    /// Returns the text, shortened if it is too long for a cell.
    private static func cut(_ text: String) -> String {
        text.utf8.count <= 4_096 ? text : text.prefix(2_048) + " …"
    }

    private static func more(_ page: Route.Page?, _ words: HTML) -> HTML {
        page.map { "<p><a class=\"more\" href=\"\($0.target)\">\(words)</a></p>" } ?? ""
    }
}
