import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateTransport

extension Command {
    private static let since = Option(
        "--since", value: "TIME", "only events received since a time (RFC 3339) or within an age (90s, 15m, 1h, 2d)")
    private static let format = Option("--format", value: "FORMAT", "ndjson (default): one event a line")

    /// The command `headgate export`.
    static let export = Command(
        name: "export", summary: "Export the pending events and dead letters of a dispatcher.",
        operands: [Operand("ID")], options: [since, format],
        notes: """
            Events stay in the daemon. Each line is one stored event: first the pending events in order, then the dead
            letters. A dead letter has the additional member dead_letter, with the time and the reason.

            Events in flight are not exported, and events delivered during the export may be missing: pause the dispatcher
            first. If the reader of the output closes it early, the export ends with exit code 1.
            """
    ) { invocation in
        if let format = invocation.arguments.value(format), format != "ndjson" {
            throw UsageError(message: "export: --format \(format) is not ndjson", command: "export")
        }
        let since = invocation.arguments.value(since)
        let time = since.flatMap { PastTime.parse($0, now: invocation.clock.now) }
        if let since, time == nil {
            throw UsageError(message: "export: --since \(since) is neither \(PastTime.examples)", command: "export")
        }
        return try Export(of: invocation.arguments.operands[0], since: time, invocation).run()
    }
}

/// Writes a dispatcher's events page by page, so that only one page is in memory.
private final class Export {
    private let dispatcher: String
    private let since: Timestamp?
    private let terminal: Terminal
    private let loop: EventLoop
    private let connection: ClientConnection
    private var fault: (any Error)?

    /// A list that the daemon returns page by page: the method, the size of a page, and the reader of a page.
    private struct List: Sendable {
        let method: String
        let limit: Int
        let page: @Sendable (DataObject) throws -> (events: [DataObject], next: Int?)

        static let waiting = List(method: "queue.peek", limit: 1000) { answer in
            let page = try PeekedEvents(answer)
            return (page.events, page.next.map { Int($0) })
        }
        static let dead = List(method: "dead_letters.list", limit: 1000) { answer in
            let page = try DeadLetterPage(answer)
            let entries: [DataObject] = answer.get(key: "dead_letters") ?? []
            return (entries.map(ExportedDeadLetter.event), page.next)
        }
    }

    init(of dispatcher: String, since: Timestamp?, _ invocation: Invocation) throws {
        (self.dispatcher, self.since) = (dispatcher, since)
        terminal = invocation.terminal
        loop = try EventLoop()
        connection = invocation.connection(on: loop, reconnectingFor: .seconds(5))
    }

    func run() throws -> ExitCode {
        // An event that becomes a dead letter during the first list appears in the second one, too. The other order
        // could miss it.
        read(.waiting, after: 0) { [self] in read(.dead, after: 0) { [self] in stop(nil) } }
        loop.run()
        if let fault { throw fault }
        return .success
    }

    private func read(_ list: List, after number: Int, then: @escaping () -> Void) {
        let params: DataObject = [
            "dispatcher": .string(dispatcher), "limit": .number(DataNumber(list.limit)),
            "after": .number(DataNumber(number)),
        ]
        connection.call(list.method, params) { [self] result in
            do {
                guard case .object(let answer) = try result.get().item else {
                    throw ClientError.badAnswer("the daemon's answer is not an object")
                }
                let page = try list.page(answer)
                try write(page.events)
                guard let next = page.next else { return then() }
                read(list, after: next, then: then)
            } catch {
                stop(error)
            }
        }
    }

    private func write(_ events: [DataObject]) throws {
        let lines = events.filter(isIncluded).map { DataItem.object($0).json + "\n" }
        if !lines.isEmpty { try terminal.write(json: lines.joined()) }
    }

    /// Returns true if the event is new enough. A damaged event without a time is exported, too.
    private func isIncluded(_ event: DataObject) -> Bool {
        guard let since, let text: String = event.get(key: "received_at"), let time = Timestamp(rfc3339: text) else {
            return true
        }
        return time >= since
    }

    private func stop(_ fault: (any Error)?) {
        self.fault = fault
        connection.close()
        loop.stop()
    }
}

/// Makes the exported form of a dead letter.
enum ExportedDeadLetter {
    /// Returns the event with the member `dead_letter`. If the event is damaged, only that member is left.
    static func event(_ deadLetter: DataObject) -> DataObject {
        var event: DataObject = deadLetter.get(key: "event") ?? [:]
        var rest = deadLetter
        rest["event"] = nil
        event["dead_letter"] = .object(rest)
        return event
    }
}
