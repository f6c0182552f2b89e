import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// Tracks the events of standard input, one a line, many unanswered at once, in order.
final class LineSender {
    private let terminal: Terminal
    private let printsAnswers: Bool
    private let loop: EventLoop
    private let connection: ClientConnection
    private let reader: InputReader
    private let scanner = JSONScanner()
    private var lines = InputLines()
    private var report = SendReport()
    private var fault: (any Error)?
    private var isReading = false
    private var waitsForRoom = false
    private var nextProgress: Int64 = 0

    /// How long a daemon that went away is waited for.
    private static let patience = Duration.seconds(60)
    /// Nanoseconds between two tellings of the progress.
    private static let progressInterval: Int64 = 100_000_000

    init(_ invocation: Invocation) throws {
        terminal = invocation.terminal
        printsAnswers = invocation.arguments.has(.json)
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: LineSender.patience)
        reader = try InputReader(terminal.input)
    }

    /// Sends everything, and tells what became of it.
    func run() throws -> ExitCode {
        read()
        loop.run()
        terminal.clearProgress()
        if let remainder = report.remainder { terminal.complain(remainder) }
        if !printsAnswers { try terminal.write(report.summary + "\n") }
        if let fault { throw fault }
        return report.bad == 0 ? .success : .failure
    }

    private func read() {
        isReading = true
        // Handed back on the loop's thread, which alone touches it.
        nonisolated(unsafe) let sender = self
        reader.read { [loop] result in loop.submit { sender.take(result) } }
    }

    private func take(_ result: Result<[UInt8], InputReader.Failure>) {
        isReading = false
        switch result {
        case .success(let bytes):
            lines.append(bytes)
            proceed()
        case .failure(let failure): stop(failure)
        }
    }

    /// Sends what there is room for; then reads on, waits, or comes to the end.
    private func proceed() {
        while fault == nil, connection.hasRoom, let line = lines.next() { send(line) }
        guard fault == nil else { return }
        guard connection.hasRoom else { return waitForRoom() }
        if !lines.isAtEnd {
            if !isReading { read() }
        } else if report.isAllAnswered {
            stop(nil)
        }
    }

    private func waitForRoom() {
        guard !waitsForRoom else { return }
        waitsForRoom = true
        connection.whenRoom { [self] in
            waitsForRoom = false
            proceed()
        }
    }

    private func send(_ line: InputLines.Line) {
        do throws(EventText.Fault) {
            guard let bytes = line.bytes else { throw .unreadable(.tooLarge) }
            let event = try EventText(bytes, scanner: scanner)
            report.noteSent(line.number)
            connection.track(event) { [self] in take($0, of: line.number) }
        } catch {
            refuse(line.number, error.text)
        }
    }

    private func take(_ answer: Result<JSONView, any Error>, of line: Int) {
        guard fault == nil else { return }
        do {
            let result = try answer.get()
            report.noteAcknowledged(line, try TrackReceipt(result))
            if printsAnswers { try terminal.write(result.item.json + "\n") }
        } catch ClientError.refused(let error) {
            refuse(line, error.message)
        } catch {
            return stop(error)
        }
        showProgress()
        if lines.isAtEnd { proceed() }
    }

    private func refuse(_ line: Int, _ text: String) {
        terminal.complain("line \(line): \(text)")
        report.noteBad(line)
    }

    private func stop(_ fault: (any Error)?) {
        self.fault = fault
        connection.close()
        loop.stop()
    }

    private func showProgress() {
        guard terminal.showsProgress, loop.monotonicNow >= nextProgress else { return }
        nextProgress = loop.monotonicNow + LineSender.progressInterval
        terminal.showProgress(report.summary)
    }
}

extension EventText.Fault {
    /// What is wrong with a line, for people.
    fileprivate var text: String {
        switch self {
        case .noObject: "not an object"
        case .unreadable(let fault): RPCError(fault).message
        }
    }
}
