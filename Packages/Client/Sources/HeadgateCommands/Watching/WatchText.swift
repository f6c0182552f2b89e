import HeadgateClient
import HeadgateData
import HeadgateText

/// The lines of a watch on a screen. They depend only on the board, the clock and the size.
struct WatchText {
    let topics: [WatchTopic]
    let socketPath: String
    let clock: WallClock
    let style: Style

    /// Returns the lines, cut to the size.
    func lines(_ board: WatchBoard, _ size: ScreenTerminal.Size) -> [String] {
        let sections = topics.map { section($0, of: board, size.columns) }
        let lines = [heading(board)] + sections.flatMap { [""] + $0 }
        return fitted(lines, size.rows - 1).map { TextWidth.cut($0, to: size.columns) }
            + [style.apply(.faint, to: TextWidth.cut("q or Ctrl-C: quit", to: size.columns))]
    }

    private func fitted(_ lines: [String], _ rows: Int) -> [String] {
        guard lines.count > rows, rows > 1 else { return Array(lines.prefix(max(0, rows))) }
        let hidden = lines.count - rows + 1
        return lines.prefix(rows - 1) + [style.apply(.faint, to: "… \(Quantity.counted(hidden, "line")) more")]
    }

    private func heading(_ board: WatchBoard) -> String {
        let link =
            board.link == .connected
            ? style.apply(.good, to: "connected")
            : style.apply(.bad, to: "connection lost; reconnecting")
        return
            "\(style.apply(.strong, to: "headgate"))  \(PlainText.line(socketPath))  \(clock.text(clock.now))  \(link)"
    }

    private func section(_ topic: WatchTopic, of board: WatchBoard, _ columns: Int) -> [String] {
        switch topic {
        case .dispatchers: dispatchers(board, columns)
        case .barriers: barriers(board, columns)
        case .outcomes: outcomes(board)
        case .clients: clients(board.clients)
        }
    }

    // MARK: Dispatchers

    private func dispatchers(_ board: WatchBoard, _ columns: Int) -> [String] {
        var table = Table([
            .init("DISPATCHER"), .init("STATE"), .init("PENDING", isNumeric: true), .init("IN FLIGHT", isNumeric: true),
            .init("DELIVERED", isNumeric: true), .init("PER SECOND", isNumeric: true), .init("NEXT ATTEMPT"),
            .init("BLOCKED BY"),
        ])
        for dispatcher in board.dispatchers { table.add(row(dispatcher, board)) }
        return table.lines(style) + board.dispatchers.flatMap { errors($0, columns) }
    }

    private func row(_ dispatcher: ListedDispatcher, _ board: WatchBoard) -> [Table.Cell] {
        [
            .init(dispatcher.id, .strong),
            dispatcher.isOpen ? .init("open", .good) : .init("blocked", .attention),
            .init(dispatcher.pending), .init(dispatcher.inFlight), .init(dispatcher.sent),
            .init(board.rate(of: dispatcher.id).map(Quantity.rate) ?? "–"),
            .init(dispatcher.retryAt.map { "in \(Quantity.time(clock.waitInSeconds(until: $0)))" } ?? "–"),
            .init(words(dispatcher.blockedBy, board.barriers).joined(separator: ", "), .attention),
        ]
    }

    /// Returns the reason words of barriers, which are shorter than their IDs. The barriers' section has whole
    /// sentences.
    private func words(_ ids: [String], _ barriers: [ListedBarrier]) -> [String] {
        ids.map { id in
            guard let word = barriers.first(where: { $0.id == id })?.word, !word.isEmpty else { return id }
            return word
        }
    }

    private func errors(_ dispatcher: ListedDispatcher, _ columns: Int) -> [String] {
        guard let error = dispatcher.lastErrorText(clock) else { return [] }
        return sentence(of: dispatcher.id, error, columns)
    }

    // MARK: Barriers

    private func barriers(_ board: WatchBoard, _ columns: Int) -> [String] {
        let words = BarrierText(dispatchers: board.dispatchers, clock: clock)
        let holding = board.barriers.filter { !$0.held.isEmpty }
        guard !holding.isEmpty else { return [style.apply(.good, to: "No dispatcher is blocked.")] }
        return holding.flatMap { sentence(of: $0.id, words.sentence($0), columns) }
    }

    /// Returns `id: text`, broken into lines.
    private func sentence(of id: String, _ text: String, _ columns: Int) -> [String] {
        let name = PlainText.line(id)
        var lines = TextWidth.wrap("\(name): \(PlainText.line(text))", to: columns)
        if lines[0].hasPrefix(name) { lines[0] = style.apply(.strong, to: name) + lines[0].dropFirst(name.count) }
        return lines
    }

    // MARK: Outcomes and clients

    private func outcomes(_ board: WatchBoard) -> [String] {
        var table = Table([
            .init("DISPATCHER"), .init("DELIVERED", isNumeric: true), .init("RETRIED", isNumeric: true),
            .init("DEAD-LETTERED", isNumeric: true), .init("EXPIRED", isNumeric: true),
            .init("EVICTED", isNumeric: true),
            .init("LAST ERROR"),
        ])
        for outcome in board.outcomes {
            table.add([
                .init(outcome.dispatcher, .strong), .init(outcome.delivered), .init(outcome.retried, .attention),
                .init(outcome.dead, .bad), .init(outcome.expired, .attention), .init(outcome.evicted, .attention),
                .init(outcome.lastError ?? "–"),
            ])
        }
        return table.lines(style)
    }

    private func clients(_ clients: [ListedClient]) -> [String] {
        var table = Table([
            .init("CLIENT"), .init("UID", isNumeric: true), .init("PID", isNumeric: true), .init("SESSION"),
        ])
        for client in clients {
            table.add([
                .init(client.client ?? "(unnamed)", client.client == nil ? .faint : .strong),
                .init(client.uid.map { String($0) } ?? "–"), .init(client.pid.map { String($0) } ?? "–"),
                .init(client.session),
            ])
        }
        return table.lines(style)
    }
}
