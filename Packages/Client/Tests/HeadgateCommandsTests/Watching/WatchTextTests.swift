import HeadgateClient
import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite struct WatchTextTests {
    private let wide = ScreenTerminal.Size(rows: 40, columns: 136)

    private var board: WatchBoard {
        var board = WatchBoard()
        board.began()
        board.changed(["topic": "dispatchers", "dispatchers": [.object(Fixed.collect)]])
        board.changed(["topic": "barriers", "barriers": [.object(Fixed.manual)]])
        board.changed([
            "topic": "outcomes", "outcomes": [["dispatcher": "collect", "delivered": 3, "retried": 1]],
        ])
        board.changed([
            "topic": "clients", "count": 2,
            "clients": [
                ["session": "session-1", "client": "shop/2.1", "uid": 1_000, "pid": 12],
                ["session": "session-2", "client": nil, "uid": 0, "pid": 13],
            ],
        ])
        return board
    }

    private func text(_ topics: [WatchTopic]) -> WatchText {
        WatchText(topics: topics, socketPath: "/run/s.sock", clock: Fixed.clock, style: Fixed.style)
    }

    @Test("B10: the screen shows the dispatchers, their last errors, and their barriers in words")
    func defaults() {
        var board = board
        board.secondPassed(at: 0)
        board.secondPassed(at: 1_000_000_000)
        #expect(
            text(WatchView.default).lines(board, wide) == [
                "headgate  /run/s.sock  12:00:00  connected",
                "",
                "DISPATCHER  STATE    PENDING  IN FLIGHT  DELIVERED  PER SECOND  NEXT ATTEMPT  BLOCKED BY",
                "collect     blocked       12          0          3           0  in 90 s       manual",
                "collect: last error: HTTP 503",
                "",
                "ManualBarrier:collect: blocks collect since 11:58:00 (2 min): paused: maintenance; "
                    + "`headgate resume collect` opens it; a flush does not",
                "  pass it",
                "q or Ctrl-C: quit",
            ])
    }

    @Test("Only the requested sections are shown, in that order")
    func topics() {
        #expect(
            text([.clients, .outcomes]).lines(board, wide) == [
                "headgate  /run/s.sock  12:00:00  connected",
                "",
                "CLIENT      UID  PID  SESSION",
                "shop/2.1   1000   12  session-1",
                "(unnamed)     0   13  session-2",
                "",
                "DISPATCHER  DELIVERED  RETRIED  DEAD-LETTERED  EXPIRED  EVICTED  LAST ERROR",
                "collect             3        1              0        0        0  –",
                "q or Ctrl-C: quit",
            ])
    }

    @Test("While the daemon is away the screen says so, and keeps the known state")
    func lost() {
        var board = board
        board.interrupted()
        let lines = text([.dispatchers]).lines(board, wide)
        #expect(lines[0].hasSuffix("connection lost; reconnecting"))
        #expect(lines[3].hasPrefix("collect"))
    }

    @Test("Without blocked dispatchers the screen says so")
    func nothing() {
        #expect(text([.barriers]).lines(WatchBoard(), wide).contains("No dispatcher is blocked."))
    }

    @Test("The screen never exceeds the size of the terminal", arguments: 0...12, [0, 1, 7, 30, 80])
    func room(rows: Int, columns: Int) {
        let all = WatchTopic.allCases
        let lines = text(all).lines(board, ScreenTerminal.Size(rows: rows, columns: columns))
        #expect(lines.count <= max(1, rows))
        #expect(lines.allSatisfy { $0.count <= columns })
        if rows > 2, columns == 80 { #expect(lines[rows - 2].hasSuffix("more")) }
    }

    @Test("Text of clients and servers cannot control the terminal")
    func controls() {
        var board = board
        board.changed([
            "topic": "dispatchers",
            "dispatchers": [["id": "a\u{1B}[2J", "blocked_by": ["x\u{7}"], "last_error": "\u{1B}]0;title\u{7}"]],
        ])
        let text = text([.dispatchers]).lines(board, wide).joined()
        #expect(!text.contains("\u{1B}") && !text.contains("\u{7}"))
    }
}
