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
