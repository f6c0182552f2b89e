import Glibc
import HeadgateData
import HeadgateText
import HeadgateTransport

/// The input and outputs of the tool.
struct Terminal: Sendable {
    /// The descriptor of the input.
    let input: Int32
    /// True if standard error is a terminal, so that progress is shown.
    let showsProgress: Bool
    /// The style of the output.
    let style: Style
    /// The terminal for a live display, or nil if the output is not one.
    let screen: ScreenTerminal?
    /// True if the output is a terminal, which obeys control characters.
    let showsOutput: Bool
    private let output: @Sendable ([UInt8]) throws -> Void
    private var errors: @Sendable (String) -> Void
    private let readers: @Sendable () -> Bool
    /// The writer of messages that does not wait for a reader, or nil if messages wait.
    private var background: LineOutput?

    init(
        input: Int32, showsProgress: Bool, style: Style, screen: ScreenTerminal? = nil, showsOutput: Bool = false,
        output: @escaping @Sendable ([UInt8]) throws -> Void, errors: @escaping @Sendable (String) -> Void,
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

    /// The terminal of this process. Output is coloured on a terminal unless `NO_COLOR` is set.
    static var standard: Terminal {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isColoured = isTerminal && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        return Terminal(
            input: STDIN_FILENO, showsProgress: isatty(STDERR_FILENO) == 1, style: Style(isColoured: isColoured),
            screen: ScreenTerminal.standard, showsOutput: isTerminal,
            output: { try OutputDescriptor(number: STDOUT_FILENO).write($0) },
            errors: { text in
                // There is no other output for a message that this failed.
                try? OutputDescriptor(number: STDERR_FILENO).write(text)
            },
            readers: { OutputDescriptor(number: STDOUT_FILENO).hasReaders })
    }

    /// Returns the same terminal with messages that never wait for a reader. Messages are counted and dropped
    /// if the output has no room for them. It is for commands that run until they are stopped.
    /// - Parameter descriptor: the descriptor of standard error.
    func withBackgroundErrors(to descriptor: Int32 = STDERR_FILENO) -> Terminal {
        let output = LineOutput(descriptor)
        var terminal = self
        terminal.background = output
        terminal.errors = { text in
            // The writer adds the line end itself.
            output.write(text.last == "\n" ? String(text.dropLast()) : text) { count in
                "headgate: \(Quantity.counted(count, "line")) dropped: standard error was not read"
            }
        }
        return terminal
    }

    /// Waits a moment for messages in the background. It must be called before the process ends.
    func finish() {
        background?.drain(atMost: Terminal.timeLimit)
    }

    /// The time to wait for a reader of standard error at the end, in milliseconds.
    private static let timeLimit = 500

    /// True if a reader of the output may exist.
    var hasReaders: Bool { readers() }

    /// Writes to the output.
    func write(_ text: String) throws {
        try output(Array(text.utf8))
    }

    /// Writes bytes that are no text to the output.
    func write(bytes: [UInt8]) throws {
        try output(bytes)
    }

    /// Writes JSON to the output. On a terminal, control characters are escaped in JSON's form, so that the meaning
    /// stays the same.
    func write(json text: String) throws {
        try write(showsOutput ? PlainText.json(text) : text)
    }

    /// Prints a message on standard error, each line with the tool's name.
    func printError(_ text: String) {
        clearProgress()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        errors("headgate: " + lines.map { PlainText.line(String($0)) }.joined(separator: "\nheadgate: ") + "\n")
    }

    /// Shows the progress in place of the earlier one, if progress is shown.
    func showProgress(_ text: String) {
        if showsProgress { errors("\r\u{1B}[K\(text)") }
    }

    /// Clears the shown progress.
    func clearProgress() {
        if showsProgress { errors("\r\u{1B}[K") }
    }
}

/// A descriptor for text output.
struct OutputDescriptor {
    let number: Int32

    /// The failure of a write.
    struct Failure: Error, CustomStringConvertible {
        let code: Int32

        var description: String { "cannot write: \(String(cString: strerror(code)))" }
        /// True if the output has no reader any more, as after `| head`.
        var isReaderGone: Bool { code == EPIPE }
    }

    /// False once the other end of a pipe or socket is closed.
    var hasReaders: Bool {
        var state = pollfd(fd: number, events: 0, revents: 0)
        return poll(&state, 1, 0) <= 0 || state.revents & Int16(POLLERR | POLLHUP) == 0
    }

    /// Writes the whole text.
    /// - Throws: ``Failure``, with the code `EPIPE` if the reader is gone.
    func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    /// Writes all bytes.
    /// - Throws: ``Failure``, with the code `EPIPE` if the reader is gone.
    func write(_ bytes: [UInt8]) throws(Failure) {
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

    /// Waits until the descriptor is writable. A process that shares it may have made it non-blocking.
    private func waitUntilWritable() {
        var state = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&state, 1, -1)
    }
}
