import Glibc
import HeadgateTransport

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
    /// True if the output is shown on a terminal, which obeys control characters.
    let showsOutput: Bool
    private let output: @Sendable (String) throws -> Void
    private var errors: @Sendable (String) -> Void
    private let readers: @Sendable () -> Bool
    /// The writer of complaints that do not wait for their reader. Nil if they do.
    private var background: LineOutput?

    init(
        input: Int32, showsProgress: Bool, style: Style, screen: ScreenPlace? = nil, showsOutput: Bool = false,
        output: @escaping @Sendable (String) throws -> Void, errors: @escaping @Sendable (String) -> Void,
        readers: @escaping @Sendable () -> Bool = { true }
    ) {
        self.input = input
        self.showsProgress = showsProgress
        self.style = style
        self.screen = screen
        self.showsOutput = showsOutput
        self.output = output
        self.errors = errors
        self.readers = readers
    }

    /// The process's own. Colours are for terminals, and for those who have not set `NO_COLOR`.
    static var standard: Terminal {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isColoured = isTerminal && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        return Terminal(
            input: STDIN_FILENO, showsProgress: isatty(STDERR_FILENO) == 1, style: Style(isColoured: isColoured),
            screen: ScreenPlace.standard, showsOutput: isTerminal,
            output: { try OutputDescriptor(number: STDOUT_FILENO).write($0) },
            errors: { text in
                // There is nowhere left to tell that this failed.
                try? OutputDescriptor(number: STDERR_FILENO).write(text)
            },
            readers: { OutputDescriptor(number: STDOUT_FILENO).hasReaders })
    }

    /// Returns the same terminal, whose complaints never wait for their reader: what a stalled reader leaves no room for is
    /// counted and discarded. For commands that run until they are stopped.
    /// - Parameter descriptor: the descriptor of standard error.
    func complainingInBackground(to descriptor: Int32 = STDERR_FILENO) -> Terminal {
        let output = LineOutput(descriptor)
        var terminal = self
        terminal.background = output
        terminal.errors = { text in
            // The output ends each line itself.
            output.write(text.last == "\n" ? String(text.dropLast()) : text) { count in
                "headgate: \(Quantity.counted(count, "line")) of this log found no room, because nobody read it"
            }
        }
        return terminal
    }

    /// Waits for a moment until complaints in the background are written. Call it before the process ends.
    func finish() {
        background?.drain(atMost: Terminal.patience)
    }

    /// The milliseconds that the end of the process waits for a reader of standard error.
    private static let patience = 500

    /// Whether anybody may read the output yet.
    var hasReaders: Bool { readers() }

    /// Writes to the output.
    func write(_ text: String) throws {
        try output(text)
    }

    /// Writes JSON to the output, as it is to programs. On a terminal, characters that could steer it are escaped as JSON
    /// has it, so that the text still means the same.
    func write(json text: String) throws {
        try write(showsOutput ? PlainText.json(text) : text)
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
        /// True if nobody reads the output any more, as after `| head`.
        var isReaderGone: Bool { code == EPIPE }
    }

    /// Whether anybody may read yet: false once the other end of a pipe or socket is closed.
    var hasReaders: Bool {
        var state = pollfd(fd: number, events: 0, revents: 0)
        return poll(&state, 1, 0) <= 0 || state.revents & Int16(POLLERR | POLLHUP) == 0
    }

    /// Writes all of it.
    /// - Throws: ``Failure``, with the code `EPIPE` if the reader is gone.
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
