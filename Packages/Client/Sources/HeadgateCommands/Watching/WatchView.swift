import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A watch for people: a screen that shows the daemon's present state until a key or a signal ends it.
final class WatchView {
    private let topics: [WatchTopic]
    private let style: Style
    private let loop: EventLoop
    private let connection: ClientConnection
    private let screen: Screen
    private var board = WatchBoard()
    private lazy var paintTimer = LoopTimer(on: loop) { [weak self] in self?.paint() }
    private lazy var secondTimer = LoopTimer(on: loop) { [weak self] in self?.secondPassed() }
    private var signals: [LoopSignal] = []
    /// The time of the last painting, in nanoseconds of the monotonic clock.
    private var lastPainting: Int64?
    private var isOver = false
    private var fault: (any Error)?

    /// The shortest time between two paintings, in nanoseconds. People do not read faster.
    private static let paintInterval: Int64 = 100_000_000

    /// - Parameter topics: the topics to show, in this order.
    init(_ invocation: Invocation, topics: [WatchTopic], on terminal: ScreenTerminal) throws {
        self.topics = topics
        style = invocation.terminal.style
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: nil)
        screen = Screen(terminal)
    }

    /// Runs until the user ends it, or the daemon refuses.
    func run() throws -> ExitCode {
        signals = try followSignals()
        // Texts about barriers need the dispatchers, and texts about dispatchers need the barriers.
        let watched = WatchTopic.allCases.filter { WatchView.default.contains($0) || topics.contains($0) }
        connection.watch(watched) { [self] in take($0) }
        loop.run()
        signals = []
        screen.leave()
        if let fault { throw fault }
        return .success
    }

    /// The topics that are shown by default.
    static let `default` = [WatchTopic.dispatchers, .barriers]

    private func take(_ news: WatchNews) {
        guard !isOver else { return }
        switch news {
        case .began: begin()
        case .changed(let params): board.changed(DataObject(params))
        case .interrupted: board.interrupted()
        case .ended(let error): return stop(error)
        }
        paintSoon()
    }

    private func begin() {
        board.began()
        guard !screen.isEntered else { return }
        enter()
        secondTimer.arm(after: .seconds(1))
    }

    private func enter() {
        attempt {
            try screen.enter(on: loop) { [self] key in
                if key == nil || key == UInt8(ascii: "q") || key == UInt8(ascii: "Q") { stop(nil) }
            }
        }
    }

    private func secondPassed() {
        board.secondPassed(at: loop.monotonicNow)
        secondTimer.arm(after: .seconds(1))
        paintSoon()
    }

    private func stop(_ fault: (any Error)?) {
        guard !isOver else { return }
        isOver = true
        self.fault = fault
        connection.close()
        loop.stop()
    }

    private func attempt(_ action: () throws -> Void) {
        do { try action() } catch { stop(error) }
    }

    // MARK: Painting

    private func paintSoon() {
        guard !isOver, paintTimer.deadline == nil else { return }
        paintTimer.arm(at: max(loop.monotonicNow, lastPainting.map { $0 + WatchView.paintInterval } ?? 0))
    }

    private func paint() {
        lastPainting = loop.monotonicNow
        let text = WatchText(topics: topics, socketPath: connection.socketPath, clock: .local, style: style)
        attempt { try screen.show(text.lines(board, screen.size)) }
    }

    // MARK: Signals

    private func followSignals() throws -> [LoopSignal] {
        let ends = try LoopSignal.ofStops(on: loop) { [self] in stop(nil) }
        let resized = try LoopSignal(SIGWINCH, on: loop) { [self] in
            screen.forget()
            paintSoon()
        }
        return ends + [resized, try LoopSignal(SIGTSTP, on: loop) { [self] in suspend() }]
    }

    /// Stops the process for Ctrl-Z. The shell gets its screen back until the process continues.
    private func suspend() {
        let wasEntered = screen.isEntered
        screen.leave()
        raise(SIGSTOP)
        if wasEntered { enter() }
        paintSoon()
    }
}
