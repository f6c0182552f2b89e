import HeadgateWire

/// Decides when to connect, what to write and write again, and how each call ends.
///
/// The owner reports events, with the time where it matters, and carries out the orders in their order. No repeatable
/// call is lost with a connection: the machine writes it again on the next one, in the same order and under the same
/// id. So the daemon recognises events that it has stored (Behaviour Q7).
struct ConnectionMachine<Answer> {
    /// An order for the owner of the machine.
    enum Order {
        /// Connect, and report `connected` or `couldNotConnect`.
        case connect
        /// Write `hello`, and report the answer.
        case greet
        /// Write these bytes.
        case write([UInt8])
        /// Close the connection, and report none of its later events.
        case disconnect
        /// Close the connection once everything is written, and report none of its later events.
        case leave
        /// End a call with this outcome.
        case finish(CallNumber, Result<Answer, ClientError>)
        /// Tell the caller of a persistent call that the daemon granted it on this connection.
        case grant(CallNumber, Answer)
        /// Tell the caller of a granted persistent call that its connection is lost.
        case interrupt(CallNumber, ClientError)
        /// Give back what the daemon may grant to a persistent call whose caller no longer waits.
        case giveBack(CallNumber)
        /// Report the state of the connection to the program.
        case report(ClientState)
        /// Warn that calls wait for a daemon that could not be reached. Ordered once for each outage.
        case warn(ClientError)
        /// Warn that a persistent call was refused on a later connection, and is made again there. Ordered once until
        /// the next grant.
        case warnOfRefusal(CallNumber, RPCError)
        /// End the events that wait for room and are no calls yet.
        case refuseWaiting(ClientError)
    }

    /// The state of the connection. Facts of a connection that is lost are ignored. ``closed()`` ends every phase.
    enum Phase: Equatable {
        /// There is no connection, and no call needs one. Next: `connecting`, for a call.
        case idle
        /// `connect` was ordered. Next: `greeting`, or after a failure `waiting`, or `idle` if no call is left or the
        /// time limit is over.
        case connecting
        /// There is a connection. The answer to `hello` must come before this moment. Next: `open`, or as after a
        /// failure to connect.
        case greeting(until: Int64)
        /// Calls are written as they come. Next: `draining`, or `waiting` or `idle` after the loss of the connection.
        case open
        /// The daemon is about to close the connection. The machine writes no more calls and waits for answers. Next:
        /// `waiting`, or `idle` if no call is left.
        case draining
        /// The next attempt to connect is at this moment. Next: `connecting`, or `idle` if no call is left then.
        case waiting(until: Int64)
        /// The machine is closed for good. The last phase.
        case closed
    }

    private let path: String
    private let options: ClientOptions
    private(set) var phase = Phase.idle
    /// The limits of the daemon's last `hello`.
    private(set) var limits = DaemonLimits()
    /// The calls that have not ended.
    private var table = CallTable()
    /// The number of the daemon's requests without an answer on the present connection.
    private(set) var requestsToAnswer = 0
    private var orders: [Order] = []
    private var ordersTaken = 0

    /// The number of failures since the last answer.
    private var failures = 0
    /// The moment after which the machine begins no further attempt to connect. Nil while it needs none, `Int64.max`
    /// for never.
    private var timeLimitEnd: Int64?
    private var wasConnected = false
    /// The state that was reported last.
    private var state: ClientState?
    /// True if the present outage had its warning.
    private var isWarned = false
    /// The number of errors without a request's id since the daemon last reported other limits.
    private var anonymousErrors = 0
    private var lastFailure: ClientError?
    private var backoff: Backoff

    /// Creates a machine for one socket. `seed` makes its waits differ from those of other clients.
    init(path: String, options: ClientOptions, seed: UInt64) {
        self.path = path
        self.options = options
        backoff = Backoff(base: options.backoffBase, cap: options.backoffCap, seed: seed)
    }

    /// The calls that have not ended.
    var calls: [CallNumber: OutgoingCall] { table.calls }
    /// The bytes of all these calls.
    var heldBytes: Int { table.heldBytes }
    /// The number of calls that are written and not answered, and their bytes.
    var unanswered: (count: Int, bytes: Int) { table.unanswered }

    /// True if another call would be written soon.
    var hasRoom: Bool {
        calls.count < options.maxUnanswered && heldBytes < options.maxUnansweredBytes
    }

    /// The moment for the next `timePassed`; nil for never.
    var nextDeadline: Int64? {
        let ofCalls = table.nextDeadline
        switch phase {
        case .greeting(let until), .waiting(let until): return min(ofCalls ?? until, until)
        case .idle, .connecting, .open, .draining, .closed: return ofCalls
        }
    }

    /// The number of the greeting's request, lower than the numbers of all calls.
    static var greetingNumber: CallNumber { 0 }

    /// True if there are orders to carry out.
    var hasOrders: Bool { ordersTaken < orders.count }

    /// Returns the next order, or nil if there is none.
    mutating func nextOrder() -> Order? {
        guard hasOrders else {
            orders.removeAll(keepingCapacity: true)
            ordersTaken = 0
            return nil
        }
        defer { ordersTaken += 1 }
        return orders[ordersTaken]
    }

    private mutating func order(_ order: Order) {
        orders.append(order)
    }
}

// MARK: Calls

extension ConnectionMachine {
    /// Handles a new call.
    mutating func called(_ number: CallNumber, _ call: OutgoingCall, now: Int64) {
        guard phase != .closed else { return order(.finish(number, .failure(.closed))) }
        table.add(number, call)
        if phase == .idle { seekConnection(now) } else { proceed(now) }
    }

    /// Handles a caller that no longer waits. If its call is written, the daemon may still carry it out.
    mutating func cancelled(_ number: CallNumber, now: Int64) {
        guard table[number] != nil else { return }
        table.remove(number)
        proceed(now)
    }

    /// Handles the daemon's answer to a call. An answer to a call that has ended is ignored.
    mutating func answered(_ number: CallNumber, _ result: Result<Answer, RPCError>, now: Int64) {
        guard let call = table[number], call.isWritten else { return }
        switch result {
        case .failure(let error) where error.reason == .shuttingDown && call.isRepeatable:
            table.unmarkWritten(number)
            table.queue(number)
            phase = .draining
        case .failure(let error) where call.outlasts(error):
            noteProgress()
            askAgainLater(number, call, error, now)
        case .failure(let error):
            noteProgress()
            finish(number, .failure(.refused(error)))
        case .success(let answer) where call.isPersistent:
            noteProgress()
            table.unmarkWritten(number)
            table.noteGranted(number)
            order(.grant(number, answer))
        case .success(let answer):
            noteProgress()
            finish(number, .success(answer))
        }
        proceed(now)
    }

    /// Replaces the lines of a persistent call, for later connections.
    mutating func changed(_ number: CallNumber, to lines: [UInt8]) {
        table.replace(number, with: lines)
    }

    /// Makes a granted persistent call again, because the daemon may have replaced what it granted.
    mutating func renewed(_ number: CallNumber, now: Int64) {
        guard table[number]?.isGranted == true else { return }
        table.noteInterrupted(number)
        table.queue(number)
        proceed(now)
    }

    /// Makes a refused persistent call again later: its dispatcher may not be there yet. A conflict has no warning,
    /// since the daemon may not have noticed that the earlier connection is lost.
    private mutating func askAgainLater(_ number: CallNumber, _ call: OutgoingCall, _ error: RPCError, _ now: Int64) {
        let isConflict = error.reason == .conflict
        if !isConflict, !call.isRefused { order(.warnOfRefusal(number, error)) }
        table.noteRefused(number, isConflict: isConflict)
        table.unmarkWritten(number)
        table.postpone(number, until: now + options.backoffCap.nanoseconds)
    }

    /// Counts a request of the daemon. A connection that is about to be closed stays open until the request is
    /// answered.
    mutating func requestCame() {
        requestsToAnswer += 1
    }

    /// Notes that a request of the daemon on the present connection is answered.
    mutating func requestAnswered(now: Int64) {
        requestsToAnswer -= 1
        proceed(now)
    }

    /// Ends or repeats the calls whose deadlines have passed, and connects when an attempt is due. Called at
    /// `nextDeadline`; an earlier call does no harm.
    mutating func timePassed(now: Int64) {
        while let late = table.firstLate(at: now) {
            if table[late]?.mayBeGrantedYet == true { order(.giveBack(late)) }
            finish(late, .failure(table[late]?.wasWritten == true ? .timedOut : lateness(orElse: .timedOut)))
        }
        table.queuePostponed(at: now)
        switch phase {
        case .waiting(let until) where until <= now: attemptAgain()
        case .greeting(let until) where until <= now:
            order(.disconnect)
            couldNotConnect(.cannotConnect(path: path, cause: "connected, but the daemon does not answer"), now: now)
        default: proceed(now)
        }
    }

    /// Returns the reason why a call that was never written ends: there is no connection, or no room on it.
    func lateness(orElse fallback: ClientError = .noRoom) -> ClientError {
        phase == .open || phase == .draining ? .noRoom : lastFailure ?? fallback
    }

    /// Closes the machine for the program. Every call ends with `closed`.
    mutating func closed() {
        guard phase != .closed else { return }
        // Answers to the daemon that were given in this turn still go out.
        order(.leave)
        failAll(.closed)
        phase = .closed
        report(.closed)
    }

    private mutating func finish(_ number: CallNumber, _ result: Result<Answer, ClientError>) {
        table.remove(number)
        order(.finish(number, result))
    }

    private mutating func failAll(_ error: ClientError) {
        for number in table.numbers { finish(number, .failure(error)) }
        order(.refuseWaiting(error))
    }

    /// Writes the calls for which there is room, or leaves a draining connection without open requests.
    private mutating func proceed(_ now: Int64) {
        if phase == .draining, unanswered.count == 0, requestsToAnswer == 0 {
            order(.leave)
            return lose(.disconnected, now)
        }
        guard phase == .open else { return }
        while hasRoomToWrite, let number = table.firstWaiting { write(number) }
    }

    private var hasRoomToWrite: Bool {
        unanswered.count < options.maxUnanswered && unanswered.bytes < options.maxUnansweredBytes
    }

    private mutating func write(_ number: CallNumber) {
        guard let call = table[number] else { return }
        if let fault = limits.fault(of: call) { return finish(number, .failure(.refused(fault))) }
        table.markWritten(number)
        order(.write(call.line))
    }

    /// Tells the callers of granted persistent calls that the connection is lost.
    private mutating func interrupt(_ error: ClientError) {
        for number in table.numbers where table[number]?.isGranted == true {
            table.noteInterrupted(number)
            order(.interrupt(number, error))
        }
    }
}

// MARK: The connection

extension ConnectionMachine {
    /// Handles the report that the owner has connected.
    mutating func connected(now: Int64) {
        guard phase == .connecting else { return }
        requestsToAnswer = 0
        phase = .greeting(until: now + options.greetingTimeout.nanoseconds)
        order(.greet)
    }

    /// Handles the report that the owner could not connect.
    /// - Parameter isPermanent: true if waiting does not help, as with a socket that this user may not use. A client
    ///   that was connected before still waits, because a restart of the daemon may help.
    mutating func couldNotConnect(_ error: ClientError, isPermanent: Bool = false, now: Int64) {
        guard phase != .closed else { return }
        lastFailure = error
        report(.disconnected(error))
        if isPermanent, !wasConnected { return fail() }
        retry(now)
        warnOnce(error)
    }

    /// Handles the daemon's answer to the greeting.
    mutating func greeted(_ limits: DaemonLimits, now: Int64) {
        guard case .greeting = phase else { return }
        if limits != self.limits { anonymousErrors = 0 }
        self.limits = limits
        isWarned = false
        report(.connected)
        // The time limit of the first connection is met. Later connections have another one.
        if !wasConnected { timeLimitEnd = nil }
        wasConnected = true
        lastFailure = nil
        phase = .open
        proceed(now)
    }

    /// Handles the daemon's refusal of the greeting, for the moment or for good.
    mutating func greetingRefused(_ error: RPCError, now: Int64) {
        guard case .greeting = phase else { return }
        order(.disconnect)
        if error.reason == .shuttingDown { return foundStopping(error.message, now) }
        if error.reason == .limit {
            return couldNotConnect(.cannotConnect(path: path, cause: error.message), now: now)
        }
        rest()
        report(.failed(.refused(error)))
        failAll(.refused(error))
    }

    /// Handles the daemon's notice that it is about to close the connection.
    mutating func closing(now: Int64) {
        switch phase {
        case .open:
            phase = .draining
            proceed(now)
        case .greeting:
            order(.disconnect)
            foundStopping("the daemon is stopping", now)
        case .idle, .connecting, .draining, .waiting, .closed: return
        }
    }

    /// Handles the loss of the connection.
    mutating func disconnected(now: Int64) {
        switch phase {
        case .greeting:
            couldNotConnect(.cannotConnect(path: path, cause: "the daemon closed the connection"), now: now)
        case .open, .draining: lose(.disconnected, now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// Handles a line that is not a message, or an error that names no request. The machine cannot know which call
    /// caused it. It ends all written calls, because repeating them might bring the same line for ever.
    mutating func gotNonsense(_ text: String, now: Int64) {
        order(.disconnect)
        switch phase {
        case .greeting: couldNotConnect(.badAnswer(text), now: now)
        case .open, .draining:
            for number in table.numbers where table.isWritten(number) { finish(number, .failure(.badAnswer(text))) }
            lose(.badAnswer(text), now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// Handles an error that names no request. Before the greeting's answer it is the reason for a refused connection.
    ///
    /// The daemon answers a line beyond its limits in this way. Its limits may have changed since the greeting. So
    /// the client connects again, learns the limits, and repeats the repeatable calls. A call that is too long fails
    /// in the client then.
    mutating func gotAnonymousError(_ error: RPCError, now: Int64) {
        switch phase {
        case .greeting: greetingRefused(error, now: now)
        case .open, .draining:
            let isAboutLimits = error.reason == .lineTooLong || error.reason == .limit
            guard isAboutLimits, anonymousErrors < Self.mostAnonymousErrors else {
                return gotNonsense(error.message, now: now)
            }
            anonymousErrors += 1
            order(.disconnect)
            lose(.disconnected, now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// The most errors without a request's id that the machine tolerates while the daemon's limits stay the same.
    private static var mostAnonymousErrors: Int { 3 }

    /// Begins to connect, and to measure the time limit.
    private mutating func seekConnection(_ now: Int64) {
        let timeLimit = wasConnected ? options.reconnectTimeout : options.connectTimeout
        timeLimitEnd = end(of: timeLimit, from: now)
        attemptAgain()
    }

    private mutating func attemptAgain() {
        guard !table.calls.isEmpty else { return rest() }
        phase = .connecting
        order(.connect)
    }

    /// Notes that the connection works: the next loss is a new one.
    private mutating func noteProgress() {
        failures = 0
        timeLimitEnd = nil
    }

    /// Ends or queues all calls after the loss of the connection.
    private mutating func lose(_ error: ClientError, _ now: Int64) {
        lastFailure = error
        report(.disconnected(error))
        interrupt(error)
        requestsToAnswer = 0
        for number in table.numbers where table.isWritten(number) && table[number]?.isRepeatable == false {
            finish(number, .failure(error))
        }
        table.queueAll()
        retry(now)
    }

    /// Waits for the next attempt, or ends all calls after the time limit.
    private mutating func retry(_ now: Int64) {
        failures += 1
        guard !table.calls.isEmpty else { return rest() }
        let timeLimit = timeLimitEnd ?? end(of: options.reconnectTimeout, from: now)
        guard now < timeLimit else { return fail() }
        timeLimitEnd = timeLimit
        phase = .waiting(until: min(now + backoff.wait(afterFailures: failures), timeLimit))
    }

    /// Waits for a stopping daemon as for one whose connection was lost, since it may be restarting.
    private mutating func foundStopping(_ cause: String, _ now: Int64) {
        if !wasConnected { timeLimitEnd = nil }
        wasConnected = true
        couldNotConnect(.cannotConnect(path: path, cause: cause), now: now)
    }

    private mutating func fail() {
        rest()
        let error = lastFailure ?? .disconnected
        report(.failed(error))
        failAll(error)
    }

    private mutating func rest() {
        phase = .idle
        timeLimitEnd = nil
    }

    /// Reports a state unless it was reported last. An outage is reported with its first reason.
    private mutating func report(_ new: ClientState) {
        if case .disconnected = new, case .disconnected = state { return }
        guard new != state else { return }
        state = new
        order(.report(new))
    }

    /// Warns once that calls wait for the daemon. A connection that is made again at once has no warning.
    private mutating func warnOnce(_ error: ClientError) {
        guard case .waiting = phase, !isWarned else { return }
        isWarned = true
        order(.warn(error))
    }

    private func end(of timeLimit: Duration?, from now: Int64) -> Int64 {
        timeLimit.map { now + $0.nanoseconds } ?? .max
    }
}
