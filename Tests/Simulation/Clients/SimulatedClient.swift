import HeadgateCore
import HeadgateData
import HeadgateWire

@testable import HeadgateServer

/// The knowledge that all clients share about their events.
final class KnownEvents {
    /// The sequence numbers that ids were acknowledged with.
    var numbers: [String: SequenceNumber] = [:]
    var purged = 0
    /// True if the count of a purge is unknown or not exact.
    var isPurgeUncertain = false
    let ledger: Ledger
    private var last = 0

    init(_ ledger: Ledger) {
        self.ledger = ledger
    }

    /// Resets the counts for a new life of the daemon.
    func lifeBegan() {
        (purged, isPurgeUncertain) = (0, false)
        numbers = numbers.filter { ledger.safe.contains($0.value) }
    }

    /// Returns a new id, or one that was used before.
    func id(_ record: Record) -> String {
        if last > 0, record.oneIn(5) { return "e\(record.number(1...last))" }
        last += 1
        return "e\(last)"
    }

    private var flushes = 0

    /// True if clients send many events at once for one dispatcher only.
    var hasFloods = false

    func flush() -> String {
        flushes += 1
        return "f\(flushes)"
    }
}

/// A client that sends random requests and checks each answer.
final class SimulatedClient {
    /// The subject of a request.
    enum Request {
        /// Tracks with `isOrdered` are acknowledged in order; those in a batch are not.
        case track(String, isOrdered: Bool)
        case trackMany(Int)
        case purge
        case awaitedFlush
        case pause(SimulatedDestination, isPaused: Bool)
        case answered((Answer) -> Void)
        /// A request for information. The closure gets the result, or nil if the request was refused.
        case inspected((DataObject?) -> Void)
        case other

        /// The number of events in the request.
        var events: Int {
            switch self {
            case .track: 1
            case .trackMany(let count): count
            default: 0
            }
        }
    }

    let number: Int
    let connection: SimulatedConnection
    private(set) var hasFinished = false
    private(set) var isGone = false
    private(set) var owed: [Int: Request] = [:]
    private var owedNulls = 0
    /// True if the connection exceeded the limit.
    private var isRefused = false
    /// The model of the client's counters.
    private(set) var account = ClientAccount()
    private var lastID = 0
    private var lastAcknowledged = 0
    private var partial: [UInt8] = []
    private let record: Record
    private let events: KnownEvents
    /// True if the client is never lost at random.
    let isOperator: Bool
    /// Handlers of the daemon's requests and notifications.
    var duties: [any Duty] = []

    init(
        number: Int, _ connection: SimulatedConnection, _ record: Record, _ events: KnownEvents, isOperator: Bool
    ) {
        self.number = number
        self.connection = connection
        self.record = record
        self.events = events
        self.isOperator = isOperator
    }

    /// True if the client may send more.
    var isTalking: Bool { !isGone && !hasFinished && connection.isOpen }
    /// True if there are no outstanding answers.
    var isContent: Bool { isGone || owed.isEmpty && owedNulls == 0 }

    /// The number of outstanding answers, and of the events in those requests.
    var owedAnswers: Int { owed.count + owedNulls }
    var owedEvents: Int { owed.values.reduce(0) { $0 + $1.events } }

    /// The destination whose pause is the only outstanding answer.
    var pausing: SimulatedDestination? {
        guard owed.count == 1, owedNulls == 0, case .pause(let destination, isPaused: true)? = owed.values.first else {
            return nil
        }
        return destination
    }

    func finish() {
        record.note("\(number) finishes")
        hasFinished = true
        connection.finish()
        record.count(.halfClosed)
    }

    func lose() {
        record.note("client \(number) is lost with \(owed.count) answers outstanding")
        if !owed.isEmpty { record.count(.lostClient) }
        forget()
        connection.lose()
    }

    /// Records that the daemon is gone, and the connection with it.
    func endedWithDaemon() {
        forget()
        connection.forget()
    }

    /// Drops all outstanding answers, which will not arrive any more.
    private func forget() {
        isGone = true
        for request in owed.values { if case .purge = request { events.isPurgeUncertain = true } }
        owed = [:]
        owedNulls = 0
    }

    // MARK: Sending

    func send(_ line: String) {
        record.note("\(number) sends \(line.prefix(120))")
        connection.send(Array((line + "\n").utf8))
    }

    /// Sends an event.
    func track() {
        let id = events.id(record)
        send(message(#""method":"track","params":{\#(event(id))}"#, .track(id, isOrdered: true)))
    }

    /// Sends several events at once.
    func trackMany(_ count: Int) { send(many((0..<count).map { _ in event(events.id(record)) })) }

    /// Sends several large events at once, without ids.
    func trackMuch(_ count: Int) {
        send(many((0..<count).map { _ in event(nil, filling: record.characters(record.number(100...600))) }))
    }

    private func many(_ list: [String]) -> String {
        let list = list.map { "{\($0)}" }
        let params = #""method":"track_many","params":{"events":[\#(list.joined(separator: ","))]}"#
        return message(params, .trackMany(list.count))
    }

    func sendSomething() {
        switch record.number(0...14) {
        case 0:
            owedNulls += 1
            record.count(.garbage)
            send("this is no JSON")
        case 1 where record.oneIn(3):
            owedNulls += 1
            record.count(.lineTooLong)
            send(String(repeating: "x", count: 5_000))
        case 3 where events.hasFloods && record.oneIn(2): flood()
        case 2:
            record.count(.batch)
            send("[\((0..<record.number(1...5)).map { _ in message(inBatch: true) }.joined(separator: ","))]")
        default: send(message(inBatch: false))
        }
    }

    /// Sends large events for one dispatcher only, which fill segments that the other dispatchers hardly need.
    private func flood() {
        let list = (0..<record.number(2...5)).map { _ in
            let filling = String(repeating: "p", count: record.number(100...600))
            return event(events.id(record), narrowed: [#","dispatchers":["a"]"#], filling: filling)
        }
        send(many(list))
    }

    private func message(inBatch: Bool) -> String {
        switch record.number(0...11) {
        case 0...5:
            let id = events.id(record)
            let params = #""method":"track","params":{\#(event(id))}"#
            if record.oneIn(8) {
                account.notified()
                return #"{"jsonrpc":"2.0",\#(params)}"#
            }
            return message(params, .track(id, isOrdered: !inBatch))
        case 6...7:
            return many((0..<record.number(1...6)).map { _ in event(events.id(record)) })
        case 8:
            let waits = record.oneIn(2)
            // A worker that waits for its own work could exceed its account and block forever, so its flush has a time
            // limit.
            let timeout = record.pick([waits ? 60_000 : 0, 10, 3_000])
            let params = #"{"flush":"\#(events.flush())","wait":\#(waits),"timeout_ms":\#(timeout)}"#
            return message(#""method":"flush","params":\#(params)"#, waits ? .awaitedFlush : .other)
        case 9: return message(#""method":"status""#, .other)
        default: return message(#""method":"ping""#, .other)
        }
    }

    /// Returns a random event as a JSON object.
    /// - Parameters:
    ///   - choices: The possible members that select dispatchers.
    ///   - filling: Letters that enlarge the event.
    private func event(
        _ id: String?, narrowed choices: [String] = ["", "", #","dispatchers":["a"]"#], filling: String = ""
    ) -> String {
        let narrowed = record.pick(choices)
        let name = id.map { #","id":"\#($0)""# } ?? ""
        let key = id.flatMap(EventKey.of).map { #","key":"\#($0)""# } ?? ""
        let timeToLive = events.ledger.ages.timeToLive()
        let limit = timeToLive.map { #","ttl_ms":\#($0)"# } ?? ""
        let more = events.ledger.rules == nil ? "" : RuleAccount.data(isNarrowed: !narrowed.isEmpty)
        let filling = filling.isEmpty ? "" : #","p":"\#(filling)""#
        let ttl = timeToLive.map { #","ttl":\#($0)"# } ?? ""
        let data = #"{"n":\#(record.number(0...99))\#(ttl)\#(filling)\#(more)}"#
        return #""event":"x"\#(name)\#(key)\#(narrowed)\#(limit),"data":\#(data)"#
    }

    func ask(_ method: String, _ params: String, _ request: Request) {
        send(message(#""method":"\#(method)","params":\#(params)"#, request))
    }

    func ask(_ method: String, _ params: String, then: @escaping (DataObject?) -> Void) {
        ask(method, params, .inspected(then))
    }

    private func message(_ call: String, _ request: Request) -> String {
        lastID += 1
        owed[lastID] = request
        return #"{"jsonrpc":"2.0","id":\#(lastID),\#(call)}"#
    }

    // MARK: Answers

    /// Reads input, and checks for the end of the connection.
    func read() {
        guard !isGone else { return }
        partial += connection.take()
        while let end = partial.firstIndex(of: UInt8(ascii: "\n")) {
            read(Array(partial[..<end]))
            partial.removeFirst(end + 1)
        }
        if !connection.isOpen { seeEnd() }
    }

    private func seeEnd() {
        if connection.isCutOff {
            record.count(.slowReader)
        } else if isRefused {
            record.count(.tooManyConnections)
        } else {
            record.expect(
                hasFinished && isContent && partial.isEmpty, "\(number) is closed, unanswered: \(owed.keys.sorted())")
        }
        record.note("\(number) is closed")
        forget()
    }

    private func read(_ line: [UInt8]) {
        guard let message = try? DataItem(parsing: line) else {
            return record.expect(false, "client \(number) reads invalid JSON")
        }
        if case .array(let messages) = message { messages.forEach(take) } else { take(message) }
    }

    private func take(_ message: DataItem) {
        guard case .object(let answer) = message else { return record.expect(false, "\(number) reads a non-object") }
        let id = answer["id"].flatMap(Int.init(dataItem:))
        if let method = answer["method"].flatMap(String.init(dataItem:)) { return takeCall(method, answer, id) }
        guard let id else {
            return takeWithoutID(answer)
        }
        guard let request = owed.removeValue(forKey: id) else {
            return record.expect(false, "client \(number) gets an answer to \(id), which is not outstanding")
        }
        let reason = reason(of: answer)
        record.note("\(number) is answered \(id) \(reason ?? "well")")
        if reason == "storage" { record.count(.refusedByFullDisk) }
        if reason == "queue_full" { record.count(.queueFull) }
        guard case .object(let result)? = answer["result"] else {
            account.refused(request.events, because: reason ?? "")
            return refused(request, answer)
        }
        account.answered(request.events, result, isRuled: events.ledger.rules != nil)
        settle(id, request, result)
    }

    /// Passes a request or notification of the daemon to its handler.
    private func takeCall(_ method: String, _ call: DataObject, _ id: Int?) {
        guard case .object(let params)? = call["params"] else { return record.expect(false, "\(method) has no params") }
        for duty in duties where duty.methods.contains(method) { duty.came(method, params, id: id, to: self) }
    }

    /// Takes an answer without an id: for an invalid message, or for a connection over the limit.
    private func takeWithoutID(_ answer: DataObject) {
        isRefused = reason(of: answer) == "limit"
        guard !isRefused else { return }
        record.expect(owedNulls > 0, "client \(number) gets an error without a cause")
        owedNulls -= 1
        account.refused(0, because: "")
    }

    private func reason(of answer: DataObject) -> String? {
        answer["error"].map { _ in data(of: answer)?.get(key: "reason") ?? "error" }
    }

    private func data(of answer: DataObject) -> DataObject? {
        answer.get(key: "error", as: DataObject.self)?.get(key: "data")
    }

    /// Takes a refusal. A purge or a pause takes effect even if it could not be stored.
    private func refused(_ request: Request, _ answer: DataObject) {
        if case .answered(let then) = request { then(.refused(reason(of: answer) ?? "error", data(of: answer) ?? [:])) }
        if case .purge = request { events.isPurgeUncertain = true }
        if case .pause(let destination, true) = request { closed(destination, isKept: false) }
        if case .inspected(let inspect) = request { inspect(nil) }
    }

    /// Records that a dispatcher is certainly paused, unless a resume is outstanding.
    private func closed(_ destination: SimulatedDestination, isKept: Bool) {
        let isRequested = owed.values.contains {
            if case .pause(let other, false) = $0 { other === destination } else { false }
        }
        guard !isRequested, !destination.isRemoved else { return }
        destination.isPaused = true
        destination.isPauseKept = isKept
    }

    private func settle(_ id: Int, _ request: Request, _ result: DataObject) {
        switch request {
        case .track(let event, let isOrdered):
            acknowledged(event, result)
            if isOrdered { inOrder(id) }
        case .trackMany(let count):
            guard case .array(let ids)? = result["ids"] else { return record.expect(false, "no ids") }
            record.expect(ids.count == count, "client \(number) gets \(ids.count) of \(count) ids")
            if result["unrouted"].flatMap(Int.init(dataItem:)) == count { return unrouted() }
            for end in ["first_seq", "last_seq"] { isSafe(sequenceNumber(result, end)) }
        case .purge:
            let count = result["purged"].flatMap(Int.init(dataItem:)) ?? -1
            events.purged += count
            if count > 0 { record.count(.purged) }
        case .pause(let destination, let isPaused):
            if isPaused { closed(destination, isKept: true) } else { destination.isResumeKept = true }
        case .answered(let then): then(.result(result))
        case .inspected(let inspect): inspect(result)
        case .other: break
        case .awaitedFlush:
            let ended = result["ended"].flatMap(String.init(dataItem:))
            if ended == "settled" { record.count(.flushSettled) }
            if ended == "timeout" { record.count(.flushTimedOut) }
        }
    }

    private func sequenceNumber(_ result: DataObject, _ name: String) -> SequenceNumber? {
        result[name].flatMap(Int.init(dataItem:)).map { SequenceNumber($0) }
    }

    /// Checks that an acknowledged event is stored.
    private func isSafe(_ sequenceNumber: SequenceNumber?) {
        let isSafe = sequenceNumber.map(events.ledger.maySayAcknowledged) ?? false
        record.expect(isSafe, "\(number) gets an ack of \(String(describing: sequenceNumber)), which is not stored")
    }

    /// Checks that an id always has the same sequence number.
    private func acknowledged(_ event: String, _ result: DataObject) {
        if result["unrouted"] != nil { return unrouted() }
        let sequenceNumber = sequenceNumber(result, "seq")
        isSafe(sequenceNumber)
        record.expect(events.numbers[event] ?? sequenceNumber == sequenceNumber, "\(event) has two sequence numbers")
        events.numbers[event] = sequenceNumber
        if result["duplicate"] != nil { record.count(.duplicate) }
    }

    /// Checks that an unrouted event is possible: all dispatchers may have been removed (Behaviour P3).
    private func unrouted() {
        record.expect(events.ledger.mayBeUnrouted, "an event is unrouted, though a dispatcher exists")
    }

    private func inOrder(_ id: Int) {
        record.expect(id > lastAcknowledged, "\(number) gets the ack of \(id) after that of \(lastAcknowledged)")
        lastAcknowledged = id
    }
}
