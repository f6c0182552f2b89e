import HeadgateWire

/// Decides when to connect, what to write, what to write again, and what becomes of every call.
///
/// Facts go in, with the time where it matters; orders come out, to be carried out in their order. Nothing that may be
/// repeated is lost with a connection: it is written again on the next one, in the same order and under the same ids,
/// which the daemon tells apart from new events (Behaviour Q7).
struct ConnectionMachine<Answer> {
    /// What to do.
    enum Order {
        /// Connect, and tell `connected` or `couldNotConnect`.
        case connect
        /// Write `hello`, and tell what is answered.
        case greet
        /// Write these bytes.
        case write([UInt8])
        /// Close the connection, and tell nothing more of it.
        case disconnect
        /// Close the connection once all that was written has gone out, and tell nothing more of it.
        case leave
        /// Tell the caller.
        case finish(CallNumber, Result<Answer, ClientError>)
        /// Tell the caller of a standing call that it is granted on this connection.
        case grant(CallNumber, Answer)
        /// Tell the caller of a standing call that was granted that the connection is gone.
        case interrupt(CallNumber, ClientError)
        /// Give back what the daemon may grant yet to a standing call that its caller no longer waits for.
        case giveBack(CallNumber)
        /// Tell whoever follows the connection's state.
        case report(ClientState)
        /// Tell people that calls wait for a daemon that could not be reached. Ordered once for each outage.
        case warn(ClientError)
        /// Warn people that a standing call was refused on a later connection, and is made again there. Ordered once for
        /// each row of refusals.
        case warnOfRefusal(CallNumber, RPCError)
        /// End what waits for room before it becomes a call.
        case refuseWaiting(ClientError)
    }

    enum Phase: Equatable {
        /// There is no connection, and nothing to send.
        case idle
        /// `connect` was ordered.
        case connecting
        /// There is a connection; the answer to `hello` is waited for until this moment.
        case greeting(until: Int64)
        /// Calls are written as they come.
        case open
        /// The daemon is about to close the connection: what is written is still answered, nothing more is written.
        case draining
        /// The next attempt to connect is made at this moment.
        case waiting(until: Int64)
        /// Nothing happens any more.
        case closed
    }

    private let path: String
    private let options: ClientOptions
    private(set) var phase = Phase.idle
    /// What the daemon takes at most.
    private(set) var limits = DaemonLimits()
    /// All calls that are neither answered nor given up.
    private var table = CallTable()
    /// How many requests of the daemon's are not answered on the present connection.
    private(set) var requestsToAnswer = 0
    private var orders: [Order] = []
    private var ordersTaken = 0

    /// Failures since the last answer.
    private var failures = 0
    /// The moment after which no further attempt to connect is begun; nil while there is no need, `Int64.max` for
    /// never.
    private var patienceEnd: Int64?
    private var wasConnected = false
    /// What was reported last.
    private var state: ClientState?
    /// Whether people were warned of the present outage.
    private var isWarned = false
    /// The number of errors without a request's id since the daemon last named other limits.
    private var doubts = 0
    private var lastFailure: ClientError?
    private var backoff: Backoff

    /// A machine for one socket. `seed` makes the waits between attempts differ from those of others.
    init(path: String, options: ClientOptions, seed: UInt64) {
        self.path = path
        self.options = options
        backoff = Backoff(base: options.backoffBase, cap: options.backoffCap, seed: seed)
    }

    /// All calls that are neither answered nor given up.
    var calls: [CallNumber: OutgoingCall] { table.calls }
    /// The bytes of all these calls.
    var heldBytes: Int { table.heldBytes }
    /// The number of calls that are written and not answered, and their bytes.
    var unanswered: (count: Int, bytes: Int) { table.unanswered }

    /// Whether another call is written soon and not only kept.
    var hasRoom: Bool {
        calls.count < options.maxUnanswered && heldBytes < options.maxUnansweredBytes
    }

    /// When to call `timePassed`; nil for never.
    var nextDeadline: Int64? {
        let ofCalls = table.nextDeadline
        switch phase {
        case .greeting(let until), .waiting(let until): return min(ofCalls ?? until, until)
        case .idle, .connecting, .open, .draining, .closed: return ofCalls
        }
    }

    /// The number of the greeting's request, lower than those of all calls.
    static var greetingNumber: CallNumber { 0 }

    /// Whether there is something to do.
    var hasOrders: Bool { ordersTaken < orders.count }

    /// The next order; nil when there is none.
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

/// The number of a call, which is the id of its request. Those made later have greater ones.
typealias CallNumber = Int64

// MARK: Calls

extension ConnectionMachine {
    /// A caller wants something.
    mutating func called(_ number: CallNumber, _ call: OutgoingCall, now: Int64) {
        guard phase != .closed else { return order(.finish(number, .failure(.closed))) }
        table.add(number, call)
        if phase == .idle { seekConnection(now) } else { proceed(now) }
    }

    /// A caller waits no longer. If its call has been written, what it asks for may be done all the same.
    mutating func abandoned(_ number: CallNumber, now: Int64) {
        guard table[number] != nil else { return }
        table.remove(number)
        proceed(now)
    }

    /// The daemon answered a call. An answer that nobody waits for any more is no error.
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
        case .success(let answer) where call.isStanding:
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

    /// What a standing call asks for has changed: it is written so from the next connection on.
    mutating func changed(_ number: CallNumber, to lines: [UInt8]) {
        table.replace(number, with: lines)
    }

    /// The daemon may have something else in place of a standing call that it has granted: the call is made again.
    mutating func renewed(_ number: CallNumber, now: Int64) {
        guard table[number]?.isGranted == true else { return }
        table.noteInterrupted(number)
        table.queue(number)
        proceed(now)
    }

    /// A standing call was refused, and what it asks for may be had later: a dispatcher may not be there yet, or the
    /// daemon may not have noticed yet that the connection before is gone, which is nothing to warn of.
    private mutating func askAgainLater(_ number: CallNumber, _ call: OutgoingCall, _ error: RPCError, _ now: Int64) {
        let isConflict = error.reason == .conflict
        if !isConflict, !call.isRefused { order(.warnOfRefusal(number, error)) }
        table.noteRefused(number, isConflict: isConflict)
        table.unmarkWritten(number)
        table.postpone(number, until: now + options.backoffCap.nanoseconds)
    }

    /// The daemon asked for something. Also a connection that is about to be closed is kept for the answer.
    mutating func requestCame() {
        requestsToAnswer += 1
    }

    /// Something that the daemon asked for on the present connection is answered.
    mutating func requestAnswered(now: Int64) {
        requestsToAnswer -= 1
        proceed(now)
    }

    /// The time that `nextDeadline` told has come, or some time else.
    mutating func timePassed(now: Int64) {
        while let late = table.firstLate(at: now) {
            if table[late]?.mayBeGrantedYet == true { order(.giveBack(late)) }
            finish(late, .failure(table.isWritten(late) ? .timedOut : lateness(orElse: .timedOut)))
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

    /// Why a call that has not been written cannot wait any longer: there is no connection, or no room on it.
    func lateness(orElse usual: ClientError = .noRoom) -> ClientError {
        phase == .open || phase == .draining ? .noRoom : lastFailure ?? usual
    }

    /// Nothing more is wanted. Every caller is told `closed`.
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

    /// Writes what there is room for, or ends a connection on which nothing more is to come.
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

    /// What was granted is gone with the connection, and has to be asked for again.
    private mutating func interrupt(_ error: ClientError) {
        for number in table.numbers where table[number]?.isGranted == true {
            table.noteInterrupted(number)
            order(.interrupt(number, error))
        }
    }
}

// MARK: The connection

extension ConnectionMachine {
    /// There is a connection.
    mutating func connected(now: Int64) {
        guard phase == .connecting else { return }
        requestsToAnswer = 0
        phase = .greeting(until: now + options.greetingTimeout.nanoseconds)
        order(.greet)
    }

    /// There is no connection to be had at present.
    /// - Parameter isPermanent: true if waiting does not help, as with a socket that this user may not use. After a
    ///   connection that worked the daemon's restart may help all the same.
    mutating func couldNotConnect(_ error: ClientError, isPermanent: Bool = false, now: Int64) {
        guard phase != .closed else { return }
        lastFailure = error
        report(.disconnected(error))
        if isPermanent, !wasConnected { return giveUp() }
        retry(now)
        warnOnce(error)
    }

    /// The daemon answered the greeting.
    mutating func greeted(_ limits: DaemonLimits, now: Int64) {
        guard case .greeting = phase else { return }
        if limits != self.limits { doubts = 0 }
        self.limits = limits
        isWarned = false
        report(.connected)
        // The first connection has been made in time; later ones are another matter.
        if !wasConnected { patienceEnd = nil }
        wasConnected = true
        lastFailure = nil
        phase = .open
        proceed(now)
    }

    /// The daemon refused the greeting: for the moment, or for good.
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

    /// The daemon says that it is about to close the connection.
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

    /// The connection is gone.
    mutating func disconnected(now: Int64) {
        switch phase {
        case .greeting:
            couldNotConnect(.cannotConnect(path: path, cause: "the daemon closed the connection"), now: now)
        case .open, .draining: lose(.disconnected, now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// Something came that is no message, or an error that names no request. It cannot be told which call it is about,
    /// so all that are written end with it: to repeat them might bring the same for ever.
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

    /// An error came that names no request: in place of a greeting it says why there is no connection.
    ///
    /// A line beyond the daemon's limits is answered so. The limits may have changed under an open connection, so the client
    /// asks for them by another greeting, and repeats what may be repeated: what is too long is refused on this side then.
    mutating func gotAnonymousError(_ error: RPCError, now: Int64) {
        switch phase {
        case .greeting: greetingRefused(error, now: now)
        case .open, .draining:
            let isAboutLimits = error.reason == .lineTooLong || error.reason == .limit
            guard isAboutLimits, doubts < Self.mostDoubts else { return gotNonsense(error.message, now: now) }
            doubts += 1
            order(.disconnect)
            lose(.disconnected, now)
        case .idle, .connecting, .waiting, .closed: return
        }
    }

    /// After so many such errors under the same limits something else is wrong.
    private static var mostDoubts: Int { 3 }

    /// Begins to look for a connection, which is wanted from now on.
    private mutating func seekConnection(_ now: Int64) {
        let patience = wasConnected ? options.reconnectTimeout : options.connectTimeout
        patienceEnd = end(of: patience, from: now)
        attemptAgain()
    }

    private mutating func attemptAgain() {
        guard !table.calls.isEmpty else { return rest() }
        phase = .connecting
        order(.connect)
    }

    /// The connection worked; the next loss is a new one.
    private mutating func noteProgress() {
        failures = 0
        patienceEnd = nil
    }

    /// The connection is gone: takes back what can be written again, in its order.
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

    /// Waits for the next attempt, or gives up.
    private mutating func retry(_ now: Int64) {
        failures += 1
        guard !table.calls.isEmpty else { return rest() }
        let patience = patienceEnd ?? end(of: options.reconnectTimeout, from: now)
        guard now < patience else { return giveUp() }
        patienceEnd = patience
        phase = .waiting(until: min(now + backoff.wait(afterFailures: failures), patience))
    }

    /// A daemon that stops was there: what waits for it waits as if it had been lost, for it may be restarting.
    private mutating func foundStopping(_ cause: String, _ now: Int64) {
        if !wasConnected { patienceEnd = nil }
        wasConnected = true
        couldNotConnect(.cannotConnect(path: path, cause: cause), now: now)
    }

    private mutating func giveUp() {
        rest()
        let error = lastFailure ?? .disconnected
        report(.failed(error))
        failAll(error)
    }

    private mutating func rest() {
        phase = .idle
        patienceEnd = nil
    }

    /// Reports a state, unless it is the one that was reported last. An outage is reported with its first reason.
    private mutating func report(_ new: ClientState) {
        if case .disconnected = new, case .disconnected = state { return }
        guard new != state else { return }
        state = new
        order(.report(new))
    }

    /// Calls wait for a daemon that could not be reached. A connection that is lost and made again at once is worth no warning.
    private mutating func warnOnce(_ error: ClientError) {
        guard case .waiting = phase, !isWarned else { return }
        isWarned = true
        order(.warn(error))
    }

    private func end(of patience: Duration?, from now: Int64) -> Int64 {
        patience.map { now + $0.nanoseconds } ?? .max
    }
}
