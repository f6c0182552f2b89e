import Glibc

/// Where the tool reads and writes.
struct Terminal: Sendable {
    /// The descriptor that it reads from.
    let input: Int32
    /// Whether somebody watches what goes wrong and how it goes on.
    let showsProgress: Bool
    /// How its output looks.
    let style: Style
    /// Where something that changes can be shown; nil when the output is for programs, or for later.
    let screen: ScreenPlace?
    private let output: @Sendable (String) throws -> Void
    private let errors: @Sendable (String) -> Void
    private let readers: @Sendable () -> Bool

    init(
        input: Int32, showsProgress: Bool, style: Style, screen: ScreenPlace? = nil,
        output: @escaping @Sendable (String) throws -> Void, errors: @escaping @Sendable (String) -> Void,
        readers: @escaping @Sendable () -> Bool = { true }
    ) {
        self.input = input
        self.showsProgress = showsProgress
        self.style = style
        self.screen = screen
        self.output = output
        self.errors = errors
        self.readers = readers
    }

    /// The process's own. Colours are for terminals, and for those who have not set `NO_COLOR`.
    static var standard: Terminal {
        let isColoured = isatty(STDOUT_FILENO) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        return Terminal(
            input: STDIN_FILENO, showsProgress: isatty(STDERR_FILENO) == 1, style: Style(isColoured: isColoured),
            screen: ScreenPlace.standard,
            output: { try OutputDescriptor(number: STDOUT_FILENO).write($0) },
            errors: { text in
                // There is nowhere left to tell that this failed.
                try? OutputDescriptor(number: STDERR_FILENO).write(text)
            },
            readers: { OutputDescriptor(number: STDOUT_FILENO).hasReaders })
    }

    /// Whether anybody may read the output yet.
    var hasReaders: Bool { readers() }

    /// Writes to the output.
    func write(_ text: String) throws {
        try output(text)
    }

    /// Tells what went wrong, on a line of its own.
    func complain(_ text: String) {
        clearProgress()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        errors("headgate: " + lines.map { PlainText.line(String($0)) }.joined(separator: "\nheadgate: ") + "\n")
    }

    /// Shows how far it is, in place of what was shown before, if somebody watches.
    func showProgress(_ text: String) {
        if showsProgress { errors("\r\u{1B}[K\(text)") }
    }

    /// Removes what was shown of the progress.
    func clearProgress() {
        if showsProgress { errors("\r\u{1B}[K") }
    }
}

/// A descriptor to write text to.
struct OutputDescriptor {
    let number: Int32

    /// Text that cannot be written.
    struct Failure: Error, CustomStringConvertible {
        let code: Int32

        var description: String { "cannot write: \(String(cString: strerror(code)))" }
    }

    /// Whether anybody may read yet: false once the other end of a pipe or socket is closed.
    var hasReaders: Bool {
        var state = pollfd(fd: number, events: 0, revents: 0)
        return poll(&state, 1, 0) <= 0 || state.revents & Int16(POLLERR | POLLHUP) == 0
    }

    /// Writes all of it. That nobody reads any more is no failure: who pipes into `head` wants it so.
    func write(_ text: String) throws(Failure) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            // The bytes are not empty, so that they have an address.
            let count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress! + written, bytes.count - written) }
            if count >= 0 {
                written += count
                continue
            }
            if errno == EPIPE { return }
            guard errno == EINTR || errno == EAGAIN else { throw Failure(code: errno) }
            waitUntilWritable()
        }
    }

    /// Somebody who shares the descriptor may have made it non-blocking.
    private func waitUntilWritable() {
        var state = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&state, 1, -1)
    }
}
