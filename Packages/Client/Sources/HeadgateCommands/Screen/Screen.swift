import Glibc
import HeadgateTransport

/// A terminal's screen, from `enter` to `leave`. Keys come singly and are not shown meanwhile; afterwards all is as it
/// was.
final class Screen {
    private let place: ScreenPlace
    private var painter = ScreenPainter()
    private var former: Former?
    private var keys: DescriptorWatch?

    /// How the terminal was before.
    private struct Former {
        var settings: termios?
        var flags: Int32
    }

    init(_ place: ScreenPlace) {
        self.place = place
    }

    var size: ScreenPlace.Size { place.size }

    var isEntered: Bool { former != nil }

    /// Takes the screen, and tells of keys from now on.
    /// - Parameter press: told each byte that keys send; nil when there will never be one again.
    func enter(on loop: EventLoop, press: @escaping (UInt8?) -> Void) throws {
        guard former == nil else { return }
        former = Former(settings: takeSettings(), flags: place.keys.map { fcntl($0, F_GETFL) } ?? -1)
        painter.forget()
        try write(ScreenPainter.enter)
        guard let descriptor = place.keys else { return }
        keys = try DescriptorWatch(readable: descriptor, on: loop) { Screen.read(descriptor, press) }
    }

    /// Gives the screen back.
    func leave() {
        guard let former else { return }
        self.former = nil
        keys = nil
        // A terminal that is gone needs nothing any more.
        try? write(ScreenPainter.leave)
        guard let descriptor = place.keys else { return }
        // Watching a descriptor makes it non-blocking, also for the shell that shares it.
        if former.flags >= 0 { _ = fcntl(descriptor, F_SETFL, former.flags) }
        if var settings = former.settings { tcsetattr(descriptor, TCSADRAIN, &settings) }
    }

    /// Shows these lines.
    func show(_ lines: [String]) throws {
        guard isEntered else { return }
        let text = painter.text(for: lines)
        if !text.isEmpty { try write(text) }
    }

    /// The terminal has another size, or somebody else wrote on it.
    func forget() {
        painter.forget()
    }

    private func write(_ text: String) throws {
        try OutputDescriptor(number: place.output).write(text)
    }

    /// Has keys come singly and unseen; Ctrl-C remains a signal.
    private func takeSettings() -> termios? {
        guard let descriptor = place.keys else { return nil }
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

/// The terminal on which a screen is shown.
struct ScreenPlace: Sendable {
    /// Where keys are read from; nil where there are none.
    let keys: Int32?
    /// Where it is shown.
    let output: Int32

    /// How much there is room for.
    struct Size: Equatable {
        var rows: Int
        var columns: Int
    }

    /// The process's own terminal; nil when its output goes elsewhere, or the terminal can only write line after line.
    static var standard: ScreenPlace? {
        guard isatty(STDOUT_FILENO) == 1, let kind = getenv("TERM").map({ String(cString: $0) }),
            !kind.isEmpty, kind != "dumb"
        else { return nil }
        return ScreenPlace(keys: isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : nil, output: STDOUT_FILENO)
    }

    /// The terminal's size now; the classic one where it does not know.
    var size: Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
            return Size(rows: 24, columns: 80)
        }
        return Size(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }
}

/// Knows what a screen shows, and what to write so that it shows something else. What is the same is not written again.
struct ScreenPainter {
    /// The lines that the screen shows; nil when that is not known.
    private var shown: [String]?

    /// The screen for something that changes, apart from what was there: no cursor, and no line goes on in the
    /// next.
    static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    /// Gives back the screen as it was.
    static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
    private static let clear = "\u{1B}[H\u{1B}[J"

    /// The screen may show anything now.
    mutating func forget() {
        shown = nil
    }

    /// What to write to show these lines, from the top, and nothing below them.
    mutating func text(for lines: [String]) -> String {
        defer { shown = lines }
        guard let shown else { return ScreenPainter.clear + lines.indices.map { line(lines[$0], $0) }.joined() }
        let changed = lines.indices.filter { !shown.indices.contains($0) || shown[$0] != lines[$0] }
        let text = changed.map { line(lines[$0], $0) }.joined()
        return lines.count < shown.count ? text + "\u{1B}[\(lines.count + 1);1H\u{1B}[J" : text
    }

    /// The old line is erased before the new one is written: behind one that fills its row there is no place to do it.
    private func line(_ text: String, _ place: Int) -> String {
        "\u{1B}[\(place + 1);1H\u{1B}[2K\(text)"
    }
}
