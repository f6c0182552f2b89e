@testable import HeadgateServer

/// A random history of a session's state machine: lines, answers, pauses, half-closes and disconnections. A slow and
/// obvious model counts the outstanding messages from scratch, and decides if a line may be taken.
///
/// The history also takes the session's part: it carries out the machine's orders on a simulated connection, scheduler
/// and store.
struct SessionHistory {
    private var random: SeededGenerator
    private var machine: SessionMachine
    private var limits: Limits

    // The simulated connection.
    private var unread: [Line] = []
    private var framed: [Line] = []
    private var isReading = true
    private var isOpen = true
    private var outputBytes = 0
    /// The state of the client's end.
    private var client = Client.open
    private var hasReportedEnd = false
    private var hasReportedLoss = false
    private var closesAfterFlush = 0

    // The simulated service.
    private var isGroupFull = false
    private var awaitsGroup = 0
    private var awaitsTurn = 0
    private var awaitsEndOfTurn = 0
    private var requested = 0
    private var isEnding = false

    // The outstanding messages.
    private var lastID = 0
    private var outstanding: [Outstanding] = []
    private var batches: [Int: Batch] = [:]
    private var owed: Set<Int> = []
    private var answered: [Int: Int] = [:]
    private var sent = 0
    private var taken = 0
    private var isTaking = false

    enum Client { case open, finished, gone }

    private struct Line {
        var bytes: Int
        /// The units of a turn's share that the line costs.
        var cost: Int
        var messages: [Message]
        var isBatch: Bool
        /// True if the line stores an event.
        var stores: Bool
    }

    private struct Message {
        /// The request's ID, or nil for a notification.
        var id: Int?
        /// True if the answer is sent after the line has been taken.
        var waits: Bool
        var answerBytes: Int
    }

    private struct Outstanding {
        var message: Message
        var bytes: Int
        var batch: Int?
    }

    private struct Batch {
        var bytes: Int
        var inProgress = 1
        var kept = 0
        var ids: [Int] = []
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        limits = Limits()
        machine = SessionMachine(limits: limits)
        changeLimits()
        machine = SessionMachine(limits: limits)
    }

    mutating func run(steps: Int) throws(Violation) {
        for _ in 0..<steps where isOpen {
            try step()
            try check()
        }
        try finish()
    }

    // MARK: Facts

    private mutating func step() throws(Violation) {
        switch number(0...24) {
        case 0...7: send()
        case 8...13: try answer()
        case 14: try drain(to: number(0...2) == 0 ? outputBytes / 2 : 0)
        case 15: isGroupFull = true
        case 16...17: try commit()
        case 18: try pump(lines: number(1...3))
        case 19...20: try pump()
        case 21:
            changeLimits()
            try perform(machine.limitsChanged(to: limits, dependencies))
        case 22: try ask()
        case 23 where oneIn(6): try leave()
        case 24 where oneIn(10): try end()
        default: outputBytes += number(0...200)
        }
        try turns(number(0...2))
    }

    private mutating func changeLimits() {
        limits.maxUnanswered = number(1...6)
        limits.maxUnansweredBytes = number(1...300)
        limits.maxOutputBytes = number(1...300)
    }

    private mutating func send() {
        guard client == .open else { return }
        let isBatch = oneIn(3)
        let messages = (0..<(isBatch ? number(1...4) : 1)).map { _ in
            lastID += 1
            let isRequest = !oneIn(4)
            return Message(id: isRequest ? lastID : nil, waits: oneIn(2), answerBytes: number(1...120))
        }
        unread.append(
            Line(
                bytes: number(1...120), cost: oneIn(10) ? number(1...2_000) : 1, messages: messages, isBatch: isBatch,
                stores: oneIn(2)))
        sent += 1
    }

    /// Answers a random outstanding message.
    private mutating func answer() throws(Violation) {
        guard !outstanding.isEmpty else { return }
        try settle(outstanding.remove(at: number(0...(outstanding.count - 1))))
    }

    private mutating func drain(to left: Int) throws(Violation) {
        outputBytes = left
        if left == 0 { try perform(machine.roomChanged(dependencies)) }
    }

    private mutating func commit() throws(Violation) {
        isGroupFull = false
        let waiting = awaitsGroup
        awaitsGroup = 0
        for _ in 0..<waiting { try perform(machine.groupHasRoom()) }
    }

    /// Ends this many turns of the loop and begins the next ones.
    private mutating func turns(_ count: Int) throws(Violation) {
        for _ in 0..<count {
            let (ends, turns) = (awaitsEndOfTurn, awaitsTurn)
            (awaitsEndOfTurn, awaitsTurn) = (0, 0)
            for _ in 0..<ends { try perform(machine.turnEnded()) }
            for _ in 0..<turns { try perform(machine.turnCame()) }
        }
    }

    /// Runs turns until the session waits for none.
    private mutating func quiesce() throws(Violation) {
        var rounds = 0
        while awaitsTurn + awaitsEndOfTurn > 0 {
            try turns(1)
            rounds += 1
            guard rounds < 10_000 else { throw Violation(description: "the session needs more than 10 000 turns") }
        }
    }

    /// Runs turns and reads data until neither has an effect.
    private mutating func settleDown() throws(Violation) {
        var before = -1
        while before != unread.count + framed.count {
            before = unread.count + framed.count
            try quiesce()
            try pump()
            try quiesce()
        }
    }

    private mutating func ask() throws(Violation) {
        if requested > 0, oneIn(2) {
            requested -= 1
            try perform(machine.clientAnswered())
        } else if isOpen, machine.mayAnswer {
            requested += 1
            machine.requestedClient()
        }
    }

    private mutating func end() throws(Violation) {
        isEnding = true
        try perform(machine.ends())
    }

    /// Lets the client close its sending side, or disconnect.
    private mutating func leave() throws(Violation) {
        client = client == .open && oneIn(2) ? .finished : .gone
        if !isReading || hasReportedEnd { try reportLoss() }
    }

    // MARK: The connection

    /// Reads data as long as the session reads.
    private mutating func pump(lines: Int = .max) throws(Violation) {
        var left = lines
        while isOpen, isReading, !unread.isEmpty, left > 0 {
            let count = min(left, number(1...5), unread.count)
            framed += unread.prefix(count)
            unread.removeFirst(count)
            left -= count
            try perform(machine.bytesCame())
        }
        try reportEnd()
    }

    private mutating func reportEnd() throws(Violation) {
        guard isOpen, isReading, unread.isEmpty, client != .open, !hasReportedEnd else { return }
        // A client that disconnects with unread answers resets the connection. The loss may be reported before the end.
        if client == .gone, oneIn(2) { try reportLoss() }
        hasReportedEnd = true
        try perform(machine.endReached())
        try reportLoss()
        if hasReportedLoss { try close() }
    }

    private mutating func reportLoss() throws(Violation) {
        guard isOpen, client == .gone, !hasReportedLoss else { return }
        hasReportedLoss = true
        outputBytes = 0
        try perform(machine.peerLost())
        if hasReportedEnd { try close() }
    }

    private mutating func close() throws(Violation) {
        guard isOpen else { return }
        isOpen = false
        isReading = false
        machine.closed()
        try endReplies()
    }

    private mutating func endReplies() throws(Violation) {
        let all = outstanding
        outstanding = []
        for one in all { try settle(one) }
    }

    private var dependencies: SessionMachine.Dependencies {
        SessionMachine.Dependencies(outputBytes: outputBytes, isGroupFull: isGroupFull)
    }

    // MARK: Orders

    private mutating func perform(_ first: SessionMachine.Order) throws(Violation) {
        var order = first
        while order != .nothing { order = try carryOut(order) }
    }

    private mutating func carryOut(_ order: SessionMachine.Order) throws(Violation) -> SessionMachine.Order {
        switch order {
        case .nothing: break
        case .takeLines: return try takeLines()
        case .pause(let awaited):
            guard isReading else { throw Violation(description: "the machine pauses a paused connection") }
            isReading = false
            proceed(after: awaited)
            // While a connection is paused, a disconnection is reported at once.
            try reportLoss()
        case .stayPaused(let awaited):
            guard !isReading else { throw Violation(description: "awaits \(awaited), but the connection reads") }
            proceed(after: awaited)
        case .resumeReading:
            guard isOpen, !isReading else { throw Violation(description: "a connection that is not paused is resumed") }
            isReading = true
            return machine.readingResumed()
        case .releaseProvider:
            for _ in 0..<requested { try perform(machine.clientAnswered()) }
            requested = 0
            return machine.providerGone()
        case .endWaits:
            guard client == .gone else { throw Violation(description: "a connected client's calls were ended") }
            owed = []
            try endReplies()
            return machine.waitsEnded()
        case .closeAfterFlush:
            try checkClose()
            closesAfterFlush += 1
            isReading = false
            outputBytes = 0
            try close()
        case .close:
            guard client == .gone else { throw Violation(description: "a connected client was disconnected") }
            try close()
        }
        return .nothing
    }

    private mutating func proceed(after awaited: SessionMachine.Awaited) {
        switch awaited {
        case .room: break
        case .group: awaitsGroup += 1
        case .turn: awaitsTurn += 1
        case .endOfTurn: awaitsEndOfTurn += 1
        }
    }

    private mutating func takeLines() throws(Violation) -> SessionMachine.Order {
        guard !isTaking else { throw Violation(description: "lines are taken while another line is being taken") }
        isTaking = true
        while isOpen {
            let mayTake = machine.mayTakeLine(dependencies)
            guard mayTake == isLineAllowed else {
                throw Violation(description: "a line is \(mayTake ? "taken" : "refused"), unlike the model: \(machine)")
            }
            let mayCall = !mayTake && machine.mayTakeCall(dependencies)
            guard mayCall == isCallAllowed else {
                throw Violation(description: "a call is \(mayCall ? "taken" : "refused"), unlike the model: \(machine)")
            }
            guard mayTake || mayCall, let line = framed.first else { break }
            if mayCall, line.stores {
                machine.holdLine()
                break
            }
            try take(framed.removeFirst())
        }
        isTaking = false
        return machine.linesTaken(hasMore: !framed.isEmpty, dependencies)
    }

    // MARK: Messages

    private mutating func take(_ line: Line) throws(Violation) {
        taken += 1
        machine.share.spend(line.cost)
        guard line.isBatch else { return try take(line.messages[0], bytes: line.bytes, batch: nil) }
        let number = taken
        batches[number] = Batch(bytes: line.bytes)
        machine.took(0, bytes: line.bytes)
        for message in line.messages {
            batches[number]?.inProgress += 1
            try take(message, bytes: 0, batch: number)
        }
        try endOne(of: number)
    }

    private mutating func take(_ message: Message, bytes: Int, batch: Int?) throws(Violation) {
        machine.took(1, bytes: bytes)
        if let id = message.id, machine.isListening { owed.insert(id) }
        let one = Outstanding(message: message, bytes: bytes, batch: batch)
        if message.waits { outstanding.append(one) } else { try settle(one) }
    }

    /// Ends a message, as ``Reply`` does.
    private mutating func settle(_ one: Outstanding) throws(Violation) {
        if let id = one.message.id, machine.isListening { answer(id, one) }
        if let batch = one.batch { try endOne(of: batch) }
        try perform(machine.settled(1, bytes: one.bytes, dependencies))
    }

    private mutating func answer(_ id: Int, _ one: Outstanding) {
        guard let batch = one.batch else {
            outputBytes += one.message.answerBytes
            answered[id, default: 0] += 1
            return
        }
        batches[batch]?.kept += one.message.answerBytes
        batches[batch]?.ids.append(id)
        machine.kept(bytes: one.message.answerBytes)
    }

    /// Ends a message of a batch, as ``BatchReply`` does.
    private mutating func endOne(of number: Int) throws(Violation) {
        batches[number]?.inProgress -= 1
        guard let batch = batches[number], batch.inProgress == 0 else { return }
        batches[number] = nil
        if machine.isListening {
            outputBytes += batch.kept
            for id in batch.ids { answered[id, default: 0] += 1 }
        }
        try perform(machine.batchEnded(keptBytes: batch.kept, requestBytes: batch.bytes, dependencies))
    }

    // MARK: The slow model

    /// The messages and bytes that the daemon keeps for the connection, counted from scratch.
    private var kept: (inProgress: Int, requestBytes: Int, keptBytes: Int) {
        let ofBatches = batches.values.reduce(into: (bytes: 0, kept: 0)) {
            $0 = ($0.bytes + $1.bytes, $0.kept + $1.kept)
        }
        return (outstanding.count, outstanding.map(\.bytes).reduce(0, +) + ofBatches.bytes, ofBatches.kept)
    }

    private var hasRoom: Bool {
        let kept = kept
        return hasReportedLoss
            || kept.inProgress < limits.maxUnanswered && kept.requestBytes < limits.maxUnansweredBytes
                && kept.keptBytes + outputBytes < limits.maxOutputBytes
    }

    private var isLineAllowed: Bool { hasRoom && !isGroupFull && machine.share.left > 0 }

    private var isCallAllowed: Bool { hasRoom && isGroupFull && machine.share.left > 0 && outstanding.isEmpty }

    private func check() throws(Violation) {
        let kept = kept
        let account = machine.account
        guard (account.inProgress, account.requestBytes, account.keptBytes) == kept else {
            throw Violation(description: "the account is \(account), and the model has \(kept)")
        }
        guard !isOpen || machine.reading == .over || isReading == (machine.reading == .open) else {
            throw Violation(
                description: "connection \(isReading ? "reads" : "is paused"), and machine is \(machine.reading)")
        }
        guard answered.values.allSatisfy({ $0 == 1 }) else { throw Violation(description: "two answers to a request") }
        let reported = machine.stop(dependencies)
        guard reported == stop else {
            throw Violation(description: "reason is \(String(describing: reported)), not \(String(describing: stop))")
        }
    }

    /// The expected reason why the session does not read, by the model's counts, or nil if the session reads.
    private var stop: SessionMachine.Stop? {
        switch machine.reading {
        case .paused(until: .group): return .storing
        case .paused(until: .room):
            let kept = kept
            if kept.inProgress >= limits.maxUnanswered { return .unanswered }
            return kept.requestBytes >= limits.maxUnansweredBytes ? .unansweredBytes : .unreadAnswers
        default: return nil
        }
    }

    /// Checks that no answer and no line is outstanding when the connection closes.
    private func checkClose() throws(Violation) {
        guard outstanding.isEmpty, batches.isEmpty else { throw Violation(description: "closed, requests unanswered") }
        guard client == .open || framed.isEmpty && (unread.isEmpty || isEnding) else {
            throw Violation(description: "closed with lines that were not taken")
        }
        guard client != .open || isEnding && requested == 0 else {
            throw Violation(description: "closed for no reason")
        }
    }

    /// Checks the state after all turns: if a line may be taken, none is left. A paused session may wait while output
    /// is unsent, because the connection reports only that all output has been sent.
    private func checkProgress() throws(Violation) {
        let awaitsDrain = machine.reading == .paused(until: .room) && outputBytes > 0
        guard isOpen, hasRoom, !isGroupFull || isCallWaiting, !awaitsDrain else { return }
        guard framed.isEmpty, unread.isEmpty else {
            throw Violation(description: "stuck, although there is room: \(machine)")
        }
    }

    /// True if the next line may be taken although the group is full: it stores no event, and no call is unanswered.
    private var isCallWaiting: Bool {
        outstanding.isEmpty && machine.reading == .open && (framed + unread).first?.stores == false
    }

    // MARK: The end

    /// Answers, reads and commits everything. Then checks that nothing is left, and that finished sessions are closed.
    private mutating func finish() throws(Violation) {
        try settleDown()
        try checkProgress()
        var rounds = 0
        repeat {
            try commit()
            try drain(to: 0)
            while !outstanding.isEmpty { try answer() }
            while requested > 0, isOpen {
                requested -= 1
                try perform(machine.clientAnswered())
            }
            try settleDown()
            try check()
            rounds += 1
            guard rounds < 1_000 else { throw Violation(description: "not ended after 1 000 rounds: \(machine)") }
        } while isOpen && !isAllReported
        try checkEnd()
    }

    /// True if no line, answer or output is left, and the client's end was reported.
    private var isAllReported: Bool {
        unread.isEmpty && framed.isEmpty && outstanding.isEmpty && outputBytes == 0
            && (client == .open || hasReportedEnd)
    }

    private func checkEnd() throws(Violation) {
        guard machine.account.isSettled, batches.isEmpty else {
            throw Violation(description: "account not empty at the end")
        }
        guard isOpen == (client == .open && !isEnding) else {
            throw Violation(description: "the connection is \(isOpen ? "open" : "closed"), and the client is \(client)")
        }
        guard closesAfterFlush == (isOpen || hasReportedLoss ? 0 : 1) else {
            throw Violation(description: "the connection was closed \(closesAfterFlush) times")
        }
        guard client != .gone else { return }
        guard Set(answered.keys) == owed else { throw Violation(description: "answers do not match the requests") }
        guard isEnding || taken == sent else { throw Violation(description: "\(sent - taken) lines were never taken") }
    }

    // MARK: Chance

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func oneIn(_ times: Int) -> Bool { number(1...times) == 1 }
}
