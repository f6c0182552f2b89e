import Glibc
import HeadgateTransport

/// A terminal's screen, between `enter` and `leave`. Meanwhile keys are read one by one and not echoed. `leave`
/// restores the terminal.
final class Screen {
    private let terminal: ScreenTerminal
    private var painter = ScreenPainter()
    private var former: Former?
    private var keys: DescriptorWatch?

    /// The terminal's former state.
    private struct Former {
        var settings: termios?
        var flags: Int32
    }

    init(_ terminal: ScreenTerminal) {
        self.terminal = terminal
    }

    var size: ScreenTerminal.Size { terminal.size }

    var isEntered: Bool { former != nil }

    /// Takes over the screen, and reports keys.
    /// - Parameter press: called with each byte of a key, and with nil when no more can come.
    func enter(on loop: EventLoop, press: @escaping (UInt8?) -> Void) throws {
        guard former == nil else { return }
        former = Former(settings: takeSettings(), flags: terminal.keys.map { fcntl($0, F_GETFL) } ?? -1)
        painter.forget()
        try write(ScreenPainter.enter)
        guard let descriptor = terminal.keys else { return }
        keys = try DescriptorWatch(readable: descriptor, on: loop) { Screen.read(descriptor, press) }
    }

    /// Restores the terminal.
    func leave() {
        guard let former else { return }
        self.former = nil
        keys = nil
        // A terminal that is gone needs no restoring.
        try? write(ScreenPainter.leave)
        guard let descriptor = terminal.keys else { return }
        // The watch made the descriptor non-blocking, also for the shell that shares it.
        if former.flags >= 0 { _ = fcntl(descriptor, F_SETFL, former.flags) }
        if var settings = former.settings { tcsetattr(descriptor, TCSADRAIN, &settings) }
    }

    /// Shows these lines.
    func show(_ lines: [String]) throws {
        guard isEntered else { return }
        let text = painter.text(for: lines)
        if !text.isEmpty { try write(text) }
    }

    /// Repaints everything the next time, because the terminal's size or contents may have changed.
    func forget() {
        painter.forget()
    }

    private func write(_ text: String) throws {
        try OutputDescriptor(number: terminal.output).write(text)
    }

    /// Sets the terminal to read keys one by one without echo. Ctrl-C stays a signal.
    private func takeSettings() -> termios? {
        guard let descriptor = terminal.keys else { return nil }
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else { return nil }
        var changed = settings
        changed.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(descriptor, TCSADRAIN, &changed)
        return settings
    }

    private static func read(_ descriptor: Int32, _ press: (UInt8?) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else { return press(nil) }
        for byte in bytes.prefix(count) { press(byte) }
    }
}

/// The terminal of a screen.
struct ScreenTerminal: Sendable {
    /// The descriptor for keys, or nil if there is none.
    let keys: Int32?
    /// The descriptor for the output.
    let output: Int32

    /// The rows and columns of a terminal.
    struct Size: Equatable {
        var rows: Int
        var columns: Int
    }

    /// The terminal of this process, or nil if its output is no terminal, or one that cannot move the cursor.
    static var standard: ScreenTerminal? {
        guard isatty(STDOUT_FILENO) == 1, let kind = getenv("TERM").map({ String(cString: $0) }),
            !kind.isEmpty, kind != "dumb"
        else { return nil }
        return ScreenTerminal(keys: isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : nil, output: STDOUT_FILENO)
    }

    /// The terminal's present size, or 24 rows of 80 columns if it does not report one.
    var size: Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return Size(rows: 24, columns: 80)
        }
        return Size(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }
}

/// Remembers the lines on a screen, and returns the text that changes them. Unchanged lines are not written again.
struct ScreenPainter {
    /// The lines on the screen, or nil if they are not known.
    private var shown: [String]?

    /// The text that opens the alternate screen, hides the cursor and turns line wrapping off.
    static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    /// The text that restores the former screen.
    static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    private static let clear = "\u{1B}[H\u{1B}[J"

    /// Forgets the lines, because the screen may show anything.
    mutating func forget() {
        shown = nil
    }

    /// Returns the text that shows these lines from the top of the screen, and nothing below them.
    mutating func text(for lines: [String]) -> String {
        defer { shown = lines }
        guard let shown else { return ScreenPainter.clear + lines.indices.map { line(lines[$0], $0) }.joined() }
        let changed = lines.indices.filter { !shown.indices.contains($0) || shown[$0] != lines[$0] }
        let text = changed.map { line(lines[$0], $0) }.joined()
        return lines.count < shown.count ? text + "\u{1B}[\(lines.count + 1);1H\u{1B}[J" : text
    }

    /// Returns the text of one line. It erases the old line before it writes the new one. After a line that fills its
    /// row, erasing would remove the line's last character.
    private func line(_ text: String, _ terminal: Int) -> String {
        "\u{1B}[\(terminal + 1);1H\u{1B}[2K\(text)"
    }
}
