import HeadgateClient
import HeadgateData
import HeadgateText

/// Describes clients: their identities, their counts, and why one is not read.
struct ClientText {
    let style: Style

    /// Returns all clients as a table, with remarks about those that are not read.
    func list(_ clients: [ListedClient]) -> String {
        guard !clients.isEmpty else { return "No clients are connected.\n" }
        var table = Table([
            .init("SESSION"), .init("CLIENT"), .init("PID", isNumeric: true), .init("UID", isNumeric: true),
            .init("CONNECTED", isNumeric: true), .init("RECEIVED", isNumeric: true),
            .init("DUPLICATES", isNumeric: true),
            .init("REJECTED", isNumeric: true), .init("FAILED", isNumeric: true), .init("UNANSWERED", isNumeric: true),
        ])
        for client in clients { table.add(row(client)) }
        let remarks = clients.compactMap(remark(on:))
        return table.text(style) + (remarks.isEmpty ? "" : "\n") + remarks.joined()
    }

    /// Returns the senders of pending events and of the last minute's events as a table, or an empty text without
    /// senders.
    func senders(_ senders: [ListedSender]) -> String {
        guard !senders.isEmpty else { return "" }
        var table = Table([
            .init("SENDER"), .init("STORED IN 1 MIN", isNumeric: true), .init("PENDING", isNumeric: true),
        ])
        for sender in senders {
            table.add([
                .init(PlainText.line(sender.name), .strong), .init(sender.minuteEvents), .init(sender.pendingEvents),
            ])
        }
        return "\n" + table.text(style)
    }

    private func row(_ client: ListedClient) -> [Table.Cell] {
        let traffic = client.traffic
        return [
            .init(client.session, .strong), .init(client.client ?? "–"), .init(client.pid.map(String.init) ?? "–"),
            .init(client.uid.map(String.init) ?? "–"), .init(traffic.map { Quantity.time($0.connected) } ?? "–"),
            .init(traffic?.received ?? 0), .init(traffic?.duplicates ?? 0), .init(traffic?.rejected ?? 0, .bad),
            .init(traffic?.failed ?? 0, .attention), .init(traffic?.unanswered ?? 0),
        ]
    }

    private func remark(on client: ListedClient) -> String? {
        guard let stop = client.traffic?.stopped else { return nil }
        let words = "the daemon has not read from it for \(Quantity.time(stop.duration)): \(stop.words)"
        return "\(style.apply(.strong, to: PlainText.line(client.session))): \(PlainText.line(words))\n"
    }
}
