import HeadgateCore
import HeadgateData
import HeadgateWire

@testable import HeadgateClient

/// A program with the Swift client, and a model of its calls and their results.
final class Program {
    private let name: String
    private let record: Record
    private let ledger: Ledger
    private let loop: ProgramLoop
    private let connection: ClientConnection
    let persistentCalls: PersistentCalls
    private let mostUnanswered: Int
    /// Calls without a result, by number.
    private var requested: [CallNumber: Requested] = [:]
    private var tracked = 0
    /// The call that the program cancels. `isClosing` is true while the program closes its client.
    private var cancelled: CallNumber?
    private var isClosing = false
    /// The number of connections so far.
    private var connects = 0
    /// The last call written on the present connection, or nil if there is none.
    private var lastWritten: CallNumber?

    private struct Requested {
        /// The id of a tracked event.
        var event: String?
        let isRepeatable: Bool
        /// The time at which the caller stops waiting.
        var deadline: Int64?
        var call: ClientConnection.Call?
        /// The line as first written, the number of writes, and the connection of the last write.
        var line: [UInt8]?
        var writings = 0
        var connect = 0
    }

    init(
        _ name: String, _ record: Record, _ scheduler: SimulatedScheduler, _ ledger: Ledger,
        accept: @escaping (SimulatedConnection) -> Bool
    ) {
        (self.name, self.record, self.ledger) = (name, record, ledger)
        loop = ProgramLoop(scheduler, accept: accept)
        mostUnanswered = record.pick([1, 3, 100])
        var options = ClientOptions()
        options.maxUnanswered = mostUnanswered
        (options.connectTimeout, options.onWarning) = (nil, nil)
        options.backoffCap = .milliseconds(record.pick([50, 2_000]))
        connection = ClientConnection(
            to: "/nowhere/socket", as: ClientIdentity(name: name, version: "1"), options: options, on: loop,
            seed: UInt64(record.number(0...99)))
        persistentCalls = PersistentCalls(name, record, connection)
        loop.connected = { [unowned self] link in
            record.note("\(name) connects")
            (connects, lastWritten) = (connects + 1, nil)
            link.wrote = { [unowned self] in wrote($0) }
        }
    }

    var connections: [SimulatedConnection] { loop.links.map(\.wire) }
    /// True if a call is not finished.
    var isWaiting: Bool { !requested.isEmpty || persistentCalls.isWaiting }

    func takeTurn() { loop.takeTurn(most: record.pick([1, 20, 5_000])) }

    // MARK: Calls

    func track() {
        tracked += 1
        let id = "\(name)x\(tracked)"
        record.note("\(name) tracks \(id)")
        let event = OutgoingEvent("x", data: data, id: id, key: EventKey.of(id: id))
        let deadline: Duration? = record.oneIn(8) ? .seconds(1) : nil
        ask(Requested(event: id, isRepeatable: true, deadline: deadline.map { loop.monotonicNow + $0.nanoseconds })) {
            connection.track(event, deadline: deadline, $0)
        }
    }

    /// The data that all clients send.
    private var data: DataObject {
        let more = ledger.rules == nil ? "" : RuleAccount.data(isNarrowed: false)
        let json = #"{"n":\#(record.number(0...99))\#(more)}"#
        guard case .object(let data)? = try? DataItem(parsing: Array(json.utf8)) else { return [:] }
        return data
    }

    /// Makes another call. A call that changes nothing is repeated on the next connection; others are not.
    func askOtherwise() {
        let method = record.pick(["status", "flush"])
        record.note("\(name) asks for \(method)")
        ask(Requested(isRepeatable: method == "status")) { connection.call(method, [:], $0) }
    }

    private func ask(_ new: Requested, _ make: (@escaping ClientConnection.Completion) -> ClientConnection.Call) {
        // The next number is that of the call.
        let number = connection.reserve().number + 1
        requested[number] = new
        // The call may be written, and even finish, before the function returns.
        let call = make { [unowned self] in answered(number, $0) }
        requested[number]?.call = call
    }

    func cancelOne() {
        guard let number = requested.keys.sorted().first, let call = requested[number]?.call else { return }
        cancelled = number
        connection.cancel(call)
        cancelled = nil
    }

    func close() {
        isClosing = true
        connection.close()
        record.expect(requested.isEmpty, "\(name) ends without results of calls \(requested.keys.sorted())")
    }

    // MARK: Results

    private func answered(_ number: CallNumber, _ result: Result<JSONView, any Error>) {
        guard let requested = requested.removeValue(forKey: number) else {
            return record.expect(false, "\(name): call \(number) has two results")
        }
        switch result {
        case .success(let answer): if requested.event != nil { acknowledged(requested, answer) }
        case .failure(let error): failed(number, requested, error)
        }
    }

    /// Checks an acknowledgement: the event must be stored. The ids are the program's own, so only an event sent twice
    /// may be a duplicate.
    private func acknowledged(_ requested: Requested, _ answer: JSONView) {
        let id = requested.event ?? ""
        guard let receipt = try? TrackReceipt(answer) else { return record.expect(false, "\(id) has no receipt") }
        record.note("\(name) gets the acknowledgement of \(id)")
        record.count(.programAcknowledged)
        record.expect(receipt.id == id, "\(name) tracked \(id), but \(receipt.id) is acknowledged")
        guard !receipt.isUnrouted else { return record.expect(ledger.mayBeUnrouted, "\(id) is unrouted") }
        let isSafe = receipt.sequenceNumber.map { ledger.isOrWasSafe(SequenceNumber($0)) } ?? false
        record.expect(isSafe, "\(name) gets an acknowledgement of \(id), which is not stored")
        guard receipt.isDuplicate else { return }
        record.count(.programDuplicate)
        record.expect(requested.writings > 1, "\(id) is a duplicate but was sent once")
    }

    /// Checks a failure. The Swift client has no time limit here, so it never fails a call on its own.
    private func failed(_ number: CallNumber, _ requested: Requested, _ error: any Error) {
        record.note("\(name): call \(number) failed: \(error)")
        let isOver = requested.deadline.map { $0 <= loop.monotonicNow } ?? false
        switch error {
        case is CancellationError:
            record.count(.programCancelled)
            record.expect(cancelled == number, "\(name) did not cancel \(number)")
        case ClientError.closed: record.expect(isClosing, "\(name) did not end")
        case ClientError.refused(let error) where requested.event != nil:
            record.count(.programRefused)
            let isSo = error.reason == .queueFull || error.reason == .storage
            record.expect(isSo, "\(name) has \(requested.event ?? "") refused: \(error.message)")
        case ClientError.disconnected where !requested.isRepeatable:
            record.count(.programDisconnected)
            record.expect(requested.writings == 1, "\(name): \(number) was lost but never written")
        case ClientError.noRoom where isOver:
            record.count(.programTimedOut)
            record.expect(requested.writings == 0, "\(name): no room for \(number), which was written")
        case ClientError.timedOut where isOver, ClientError.disconnected where isOver,
            ClientError.cannotConnect where isOver:
            record.count(.programTimedOut)
        default: record.expect(false, "\(name): call \(number) failed without need: \(error)")
        }
    }

    // MARK: Output

    private static let methods: Set = ["hello", "track", "status", "flush"]

    private func wrote(_ bytes: [UInt8]) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard case .object(let request)? = try? DataItem(parsing: Array(line)),
                let number = request.get(key: "id", as: Int.self)
            else { return record.expect(false, "\(name) writes an invalid request") }
            // The program also answers requests, and renews its lasting calls.
            let method = request.get(key: "method", as: String.self)
            if let method, Program.methods.contains(method) { wrote(CallNumber(number), Array(line)) }
        }
    }

    /// Checks the order on a connection: first the greeting, then all unfinished calls in order, each with the same
    /// bytes as before (Behaviour Q7).
    private func wrote(_ number: CallNumber, _ line: [UInt8]) {
        record.note("\(name) writes \(number)")
        let isGreeting = number == ConnectionMachine<JSONView>.greetingNumber
        record.expect(
            isGreeting == (lastWritten == nil), "\(name) writes \(number) before the greeting, or greets twice")
        record.expect(number > lastWritten ?? -1, "\(name) writes \(number) after \(lastWritten ?? 0)")
        lastWritten = number
        guard !isGreeting else { return }
        guard let before = requested[number] else {
            return record.expect(false, "\(name) writes \(number), which is finished")
        }
        record.expect(before.line ?? line == line, "\(name) repeats \(number) with other bytes")
        record.expect(before.isRepeatable || before.writings == 0, "\(name) repeats \(number), which is not allowed")
        if before.writings > 0 { record.count(.programResent) }
        requested[number]?.line = line
        requested[number]?.writings += 1
        requested[number]?.connect = connects
        let expected = requested.filter { $0.key != cancelled }
        let passed = expected.filter { $0.key < number && $0.value.connect != connects }.keys.sorted()
        record.expect(passed.isEmpty, "\(name) writes \(number) before \(passed)")
        let unanswered = expected.values.count { $0.connect == connects }
        record.expect(unanswered <= mostUnanswered, "\(name) has written \(unanswered) without an answer")
    }
}
