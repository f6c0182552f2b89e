import HeadgateClient
import HeadgateText
import HeadgateTransport
import HeadgateWire

/// Tracks the events of an input, one for each line and in order, with many requests in flight. Events that the daemon
/// refuses for now are sent again before any further line.
final class LineSender {
    /// Called with the number and the event of each line before it is sent.
    var whenSent: ((Int, EventText) -> Void)?
    /// Called with each line. Returns true for a line that an earlier run has sent.
    var isSettled: (([UInt8]) -> Bool)?
    /// Called when a line was answered.
    var whenAnswered: (() -> Void)?

    private let terminal: Terminal
    private let printsAnswers: Bool
    private let loop: EventLoop
    private let connection: ClientConnection
    private let reader: InputReader
    private let format: LineFormat
    private let scanner = JSONScanner()
    private var lines: InputLines
    private var report = SendReport()
    private var fault: (any Error)?
    private var isReading = false
    private var waitsForRoom = false
    private var nextProgress: Int64 = 0
    /// The events in flight, by line number.
    private var sent: [Int: EventText] = [:]
    /// The events that the daemon refused for now, by line number.
    private var refused: [Int: EventText] = [:]
    private var retry: LoopTimer?
    private var throttle = MessageThrottle()
    /// The number of consecutive attempts to send the refused events.
    private var tries = 0

    /// The number of the last line that was read.
    private var lastLine = 0

    /// The time to wait for a daemon that has gone away, unless the caller gives another.
    static let timeLimit = Duration.seconds(60)
    /// The time between two progress messages, in nanoseconds.
    private static let progressInterval: Int64 = 100_000_000
    /// The longest time until refused events are sent again, in seconds.
    private static let longestDelay = 5

    /// - Parameters:
    ///   - input: the descriptor of the input; nil for standard input.
    ///   - timeLimit: the time to wait for a daemon that has gone away, or nil to wait for ever.
    init(
        _ format: LineFormat, of input: Int32? = nil, on loop: EventLoop, timeLimit: Duration? = LineSender.timeLimit,
        _ invocation: Invocation
    ) throws {
        self.format = format
        self.loop = loop
        // `journalctl` may be ended in the middle of an entry. The next run sends that entry.
        lines = InputLines(dropsUnendedLine: format.syntax == .journal)
        terminal = invocation.terminal
        printsAnswers = invocation.arguments.has(.json)
        connection = invocation.connection(on: loop, reconnectingFor: timeLimit)
        reader = try InputReader(input ?? terminal.input)
    }

    /// The number of the last line that is settled, together with all lines before it: stored, or refused for good.
    var settledLine: Int { (report.firstUnanswered ?? lastLine + 1) - 1 }

    /// Sends all lines and reports the outcome.
    func run() throws -> ExitCode {
        retry = LoopTimer(on: loop) { [self] in sendRefused() }
        reach()
        read()
        loop.run()
        retry = nil
        terminal.clearProgress()
        if let remainder = report.remainder { terminal.printError(remainder) }
        if !printsAnswers { try terminal.write(report.summary + "\n") }
        if let fault { throw fault }
        return report.bad == 0 ? .success : .failure
    }

    /// Connects before the first line comes. The command ends if it cannot reach the daemon now. Later it waits for a
    /// daemon that goes away.
    private func reach() {
        _ = connection.call("ping") { [self] answer in
            guard case .failure(let error as ClientError) = answer, case .cannotConnect = error, fault == nil else {
                return
            }
            stop(error)
        }
    }

    private func read() {
        isReading = true
        // The result returns to the loop's thread, which alone uses the sender.
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

    /// Sends as many lines as the connection takes. Then reads on, waits, or stops.
    private func proceed() {
        while fault == nil, refused.isEmpty, connection.hasRoom, let line = lines.next() { send(line) }
        guard fault == nil else { return }
        guard refused.isEmpty else { return waitWithRefused() }
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
        lastLine = line.number
        if let bytes = line.bytes, format.isOwn(bytes) || isSettled?(bytes) == true { return }
        do throws(LineFormat.Fault) {
            guard let bytes = line.bytes else { throw .event(.unreadable(.tooLarge)) }
            let event = try format.read(bytes, scanner: scanner)
            report.noteSent(line.number)
            whenSent?(line.number, event)
            send(event, of: line.number)
        } catch {
            refuse(line.number, error.text)
        }
    }

    private func send(_ event: EventText, of line: Int) {
        sent[line] = event
        connection.track(event) { [self] in take($0, of: line) }
    }

    private func take(_ answer: Result<JSONView, any Error>, of line: Int) {
        guard fault == nil else { return }
        let event = sent.removeValue(forKey: line)
        do {
            let result = try answer.get()
            report.noteAcknowledged(line, try TrackReceipt(result))
            tries = 0
            if printsAnswers { try terminal.write(json: result.item.json + "\n") }
        } catch ClientError.refused(let error) where error.lineDecision == .goesAgain {
            refused[line] = event
            if throttle.isNews(error.message) {
                terminal.printError("line \(line): \(error.message); retrying such lines until they are stored")
            }
        } catch ClientError.refused(let error) {
            refuse(line, error.message)
        } catch {
            return stop(error)
        }
        showProgress()
        whenAnswered?()
        if lines.isAtEnd || !refused.isEmpty || sent.isEmpty { proceed() }
    }

    // MARK: Refused for now

    /// Waits for the outstanding answers, and then for some seconds before the refused events are sent again.
    private func waitWithRefused() {
        guard sent.isEmpty, let retry, retry.deadline == nil else { return }
        retry.arm(after: .seconds(min(Self.longestDelay, 1 << min(tries, 3))))
        tries += 1
    }

    private func sendRefused() {
        guard fault == nil else { return }
        let again = refused.sorted { $0.key < $1.key }
        refused = [:]
        for (line, event) in again { send(event, of: line) }
    }

    private func refuse(_ line: Int, _ text: String) {
        terminal.printError("line \(line): \(text)")
        report.noteBad(line)
    }

    /// Ends the run, whether or not all lines are answered.
    func stop(_ fault: (any Error)?) {
        self.fault = fault
        connection.close()
        loop.stop()
    }

    private func showProgress() {
        guard terminal.showsProgress, loop.monotonicNow >= nextProgress else { return }
        nextProgress = loop.monotonicNow + LineSender.progressInterval
        let waiting = refused.isEmpty ? "" : ", \(Quantity.counted(refused.count, "line")) to be sent again"
        terminal.showProgress(report.summary + waiting)
    }
}

extension EventText.Fault {
    /// The fault of a line, as a text for people.
    var text: String {
        switch self {
        case .noObject: "not an object"
        case .unreadable(let fault): RPCError(fault).message
        }
    }
}

/// Counts the outcomes of the lines.
private struct SendReport {
    private(set) var acknowledged = 0
    private(set) var duplicates = 0
    private(set) var unrouted = 0
    private(set) var bad = 0
    /// The numbers of the lines in flight.
    private var unanswered: Set<Int> = []

    var isAllAnswered: Bool { unanswered.isEmpty }
    var firstUnanswered: Int? { unanswered.min() }

    mutating func noteSent(_ line: Int) {
        unanswered.insert(line)
    }

    mutating func noteAcknowledged(_ line: Int, _ receipt: TrackReceipt) {
        unanswered.remove(line)
        acknowledged += 1
        if receipt.isDuplicate { duplicates += 1 }
        if receipt.isUnrouted { unrouted += 1 }
    }

    mutating func noteBad(_ line: Int) {
        unanswered.remove(line)
        bad += 1
    }

    /// The counts as text: `2 events acknowledged (1 duplicate), 1 bad line`.
    var summary: String {
        var remarks: [String] = []
        if duplicates > 0 { remarks.append(Quantity.counted(duplicates, "duplicate")) }
        if unrouted > 0 { remarks.append("\(Quantity.grouped(unrouted)) unrouted") }
        let remark = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
        let end = bad > 0 ? ", \(Quantity.counted(bad, "bad line"))" : ""
        return Quantity.counted(acknowledged, "event") + " acknowledged" + remark + end
    }

    /// A text about the lines without an answer after an early end, or nil if all were answered.
    var remainder: String? {
        guard let first = firstUnanswered else { return nil }
        return "\(Quantity.counted(unanswered.count, "line")) not acknowledged, the first is line \(first)"
    }
}
