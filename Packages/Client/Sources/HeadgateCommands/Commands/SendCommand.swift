import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

extension Command {
    private static let stdin = Option("--stdin", "read events from standard input, one object a line")

    private static let follow = Option("--follow", value: "FILE", "read them from a file as it grows, or a named pipe")
    private static let state = Option("--state", value: "FILE", "where --follow keeps how far it came (FILE.headgate)")

    /// `headgate send`.
    static let send = Command(
        name: "send", summary: "Track an event, or many from standard input.",
        operands: [Operand("EVENT", .optional), Operand("KEY=VALUE", .any)], options: [stdin, follow, state, .json],
        notes: """
            A value that is JSON (1.50, true, null, {…}, […], "text in quotes") is sent as that, any other as a string.
            The event's id is printed once the daemon has stored it.

            With --stdin each line is an object: {"event": "signup", "data": {"plan": "pro"}}, with further members if
            you like: id, key, time, dispatchers, ttl_ms. A bad line is told with its number; the rest goes on.
            When the daemon restarts meanwhile, nothing is lost and nothing is tracked twice.

            With --follow it goes on until SIGTERM, and after a kill where it was: each line is stored once. A file that is
            renamed is read to its end, then those that were renamed since, then the new one of its name; one that is
            emptied is read anew. A bad line is told with its place and skipped. While a disk is full it waits.
            A named pipe is followed as its writers come and go; its lines are kept in FILE.headgate-lines until they are stored.
            """
    ) { invocation in
        if invocation.arguments.value(follow) != nil { return try followFile(invocation) }
        if invocation.arguments.has(stdin) { return try sendLines(invocation) }
        return try sendOne(invocation)
    }

    private static func sendOne(_ invocation: Invocation) throws -> ExitCode {
        guard let event = invocation.arguments.operands.first else {
            throw UsageError(message: "send: neither EVENT nor --stdin", command: "send")
        }
        let data = try EventData.parse(invocation.arguments.operands.dropFirst())
        let answer = try invocation.track(OutgoingEvent(event, data: data))
        try invocation.show(answer, else: (answer.get(key: "id") ?? "") + "\n")
        if answer.get(key: "unrouted") == true {
            invocation.terminal.complain("no dispatcher wants this event: it was not stored")
        }
        return .success
    }

    private static func followFile(_ invocation: Invocation) throws -> ExitCode {
        guard invocation.arguments.operands.isEmpty, !invocation.arguments.has(stdin),
            let path = invocation.arguments.value(follow)
        else { throw UsageError(message: "send: either EVENT, --stdin or --follow", command: "send") }
        return try Follower(path, state: invocation.arguments.value(state), invocation).run()
    }

    private static func sendLines(_ invocation: Invocation) throws -> ExitCode {
        guard invocation.arguments.operands.isEmpty else {
            throw UsageError(message: "send: either EVENT or --stdin", command: "send")
        }
        return try LineSender(invocation).run()
    }
}

/// The data of an event as it is given on the command line.
enum EventData {
    /// Reads `key=value` pairs. Of several with one key the last counts.
    static func parse(_ pairs: some Sequence<String>) throws(UsageError) -> DataObject {
        var data = DataObject()
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError(message: "send: \(pair) is not KEY=VALUE", command: "send")
            }
            data[parts[0]] = value(parts[1])
        }
        return data
    }

    /// What is JSON is taken as that, with all its digits (Behaviour P6); the rest is text.
    private static func value(_ text: String) -> DataItem {
        do throws(JSONFault) {
            return try DataItem(parsing: Array(text.utf8))
        } catch {
            return .string(text)
        }
    }
}

/// Tracks the events of standard input, one a line, many unanswered at once, in order.
private final class LineSender {
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
    var text: String {
        switch self {
        case .noObject: "not an object"
        case .unreadable(let fault): RPCError(fault).message
        }
    }
}

/// What became of the lines that were sent.
private struct SendReport {
    private(set) var acknowledged = 0
    private(set) var duplicates = 0
    private(set) var unrouted = 0
    private(set) var bad = 0
    /// The lines that are sent and not answered.
    private var unanswered: Set<Int> = []

    var isAllAnswered: Bool { unanswered.isEmpty }

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

    /// `2 events acknowledged (1 duplicate), 1 bad line`.
    var summary: String {
        var remarks: [String] = []
        if duplicates > 0 { remarks.append(Quantity.counted(duplicates, "duplicate")) }
        if unrouted > 0 { remarks.append("\(Quantity.grouped(unrouted)) unrouted") }
        let remark = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
        let end = bad > 0 ? ", \(Quantity.counted(bad, "bad line"))" : ""
        return Quantity.counted(acknowledged, "event") + " acknowledged" + remark + end
    }

    /// Which lines were not answered when all came to an early end; nil if all were.
    var remainder: String? {
        guard let first = unanswered.min() else { return nil }
        return "\(Quantity.counted(unanswered.count, "line")) not acknowledged, the first is line \(first)"
    }
}
