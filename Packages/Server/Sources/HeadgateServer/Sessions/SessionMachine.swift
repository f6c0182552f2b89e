/// A state machine that decides when a session reads, and when it closes its connection.
///
/// The session reports each fact with a call, which returns one order. ``Session/perform(_:)`` carries out the order.
/// The session reports the end of some orders with another call, which may return the next order. The machine has no
/// clock and no I/O, and allocates nothing.
struct SessionMachine {
    /// An order to the session.
    enum Order: Equatable {
        case nothing
        /// Read lines as long as ``mayTakeLine(_:)`` allows, and lines that store no event as long as
        /// ``mayTakeCall(_:)`` allows. Then call ``linesTaken(hasMore:_:)``.
        case takeLines
        /// Stop reading from the connection until this event has come.
        case pause(until: Awaited)
        /// The connection is already paused, and stays so until this event has come.
        case stayPaused(until: Awaited)
        /// Continue to read from the connection, and call ``readingResumed()``.
        case resumeReading
        /// End the client's boards and subscriptions, because the client sends nothing more. Then call
        /// ``providerGone()``.
        case releaseProvider
        /// End the calls that the client waits for, because the client has disconnected. Limit the time for reading its
        /// remaining data. Then call ``waitsEnded()``.
        case endWaits
        /// Close the connection when all output has been sent.
        case closeAfterFlush
        /// Close the connection at once.
        case close
    }

    /// The event that a paused session waits for.
    enum Awaited: Equatable {
        /// Room in the session's account. Other calls report it.
        case room
        /// Room in the commit group that collects events. Call ``groupHasRoom()`` then, at the end of a turn.
        case group
        /// A later turn of the loop, in which the session has a new share. Call ``turnCame()`` then.
        case turn
        /// The end of this turn. The account may get room while the message of another session is handled. The shared
        /// decoder still refers to that message's line. Call ``turnEnded()`` then.
        case endOfTurn
    }

    /// The state of reading. A fact that is not named at a state changes nothing in it. ``closed()`` ends every state.
    enum Reading: Equatable {
        /// The session reads from the connection. Next: `taking`, when bytes come or the client's side ends.
        case open
        /// The session takes lines that it has read. The connection is open or paused. Next: `over` if all lines of a
        /// client that sends nothing more are taken, `paused` if no line may be taken now, and otherwise `open`.
        case taking(whilePaused: Bool)
        /// The connection is paused and lines wait until this event has come. Next: `taking`. After `room` comes
        /// `paused(until: .endOfTurn)` before.
        case paused(until: Awaited)
        /// The client sends nothing more, and all its lines are taken. Next: `closed`.
        case over
        /// The connection is closed. The last state.
        case closed
    }

    /// The state of the client's side. The end of its data and its disconnection come once each, in any order; a second
    /// disconnection is ignored.
    enum Peer: Equatable {
        /// Next: `finished` at the end of its data, `leaving` when it disconnects.
        case present
        /// The client has closed its sending side and still reads answers (Protocol, Framing). Next: `gone`.
        case finished
        /// The client has disconnected. The session still reads its remaining data. Next: `gone`.
        case leaving
        /// The client has disconnected, and all its data is read. The last state.
        case gone

        /// A Boolean value that says whether all data of the client has arrived.
        var hasReachedEnd: Bool { self == .finished || self == .gone }
        /// A Boolean value that says whether the client reads nothing more.
        var isLost: Bool { self == .leaving || self == .gone }
    }

    /// The state of the session's end, which depends on neither ``Reading`` nor ``Peer``.
    enum Ending: Equatable {
        /// The session serves its client. Next: `requested`; `ordered`, when the client sends nothing more and all its
        /// messages are answered.
        case none
        /// The session closes when its open calls are done. Next: `ordered`.
        case requested
        /// The order to close the connection is given. It is given once. The last state.
        case ordered
    }

    /// The state outside the machine that its decisions need.
    struct Dependencies: Equatable {
        /// The output that the client has not read, in bytes.
        var outputBytes = 0
        /// A Boolean value that says whether the commit group that collects events is full.
        var isGroupFull = false
    }

    private(set) var reading = Reading.open
    private(set) var peer = Peer.present
    private(set) var account = SessionAccount()
    /// The session's remaining share of this turn.
    var share = TurnShare()
    /// The units that the sessions of this user have left in this turn. The session sets it before bytes and turns.
    var userShare = TurnShare.whole
    private var limits: Limits
    /// The number of requests that the client has not answered.
    private(set) var requested = 0
    /// A Boolean value that says whether the next line waits for room in the commit group.
    private var isLineHeld = false
    private var ending = Ending.none

    init(limits: Limits) {
        self.limits = limits
    }

    /// A Boolean value that says whether the client reads output.
    var isListening: Bool { !peer.isLost && reading != .closed }

    /// A Boolean value that says whether the client may still answer a request.
    var mayAnswer: Bool { !peer.hasReachedEnd && reading != .closed }

    /// A Boolean value that says whether the session's account has room for another line. The account does not limit a
    /// disconnected client, whose remaining data is read to its end.
    private var hasRoom: Bool { peer.isLost || account.hasRoom(within: limits) }

    /// The reason why a session does not read its client.
    enum Stop: String, CaseIterable, Sendable {
        /// The client has the most unanswered requests that it may have.
        case unanswered
        /// The unanswered requests have the most bytes that they may have.
        case unansweredBytes = "unanswered_bytes"
        /// The client does not read its answers.
        case unreadAnswers = "unread_answers"
        /// The store has the most data to write that it accepts.
        case storing
        /// The client's user is above `limits.rate`.
        case rate
    }

    /// Returns the reason why the session does not read, or nil if it reads now or in the next turn.
    /// - Parameter isAboveRate: true if the client's user is above `limits.rate`.
    func stop(_ now: Dependencies, isAboveRate: Bool = false) -> Stop? {
        switch reading {
        case .paused(until: .room):
            var account = account
            account.outputBytes = now.outputBytes
            // The connection reports room only when all output is read, so the session stays paused until then.
            return account.fullPart(within: limits) ?? .unreadAnswers
        case .paused(until: .group): return .storing
        case .paused(until: .turn): return isAboveRate ? .rate : nil
        case .paused, .open, .taking, .over, .closed: return nil
        }
    }

    // MARK: Lines

    /// Handles that bytes have arrived. The session's framer holds them.
    mutating func bytesCame() -> Order {
        guard reading == .open else { return .nothing }
        share.renew(within: userShare)
        reading = .taking(whilePaused: false)
        return .takeLines
    }

    /// Handles that the client sends nothing more. Its last line may lack a line end.
    mutating func endReached() -> Order {
        peer = peer.isLost ? .gone : .finished
        guard reading == .open else { return .nothing }
        reading = .taking(whilePaused: false)
        return .takeLines
    }

    /// Returns true if the session may take its next line now.
    mutating func mayTakeLine(_ now: Dependencies) -> Bool {
        account.outputBytes = now.outputBytes
        guard case .taking = reading else { return false }
        return !share.isUsedUp && !now.isGroupFull && hasRoom
    }

    /// Returns true if the session may take its next line now, provided that the line stores no event. Call this when
    /// ``mayTakeLine(_:)`` returns false. It lets an operator inspect the service and make room while the commit group
    /// is full (Behaviour X2).
    ///
    /// Returns false while the session has unanswered requests, because their acknowledgements wait for the group.
    mutating func mayTakeCall(_ now: Dependencies) -> Bool {
        account.outputBytes = now.outputBytes
        guard case .taking = reading else { return false }
        return now.isGroupFull && account.isSettled && !share.isUsedUp && hasRoom
    }

    /// Records that the next line may not be taken yet, because it stores an event.
    mutating func holdLine() {
        isLineHeld = true
    }

    /// Handles that the session has stopped taking lines: no complete line is left, or no line may be taken.
    /// - Parameter hasMore: true if bytes are left.
    mutating func linesTaken(hasMore: Bool, _ now: Dependencies) -> Order {
        guard case .taking(let isPaused) = reading else { return .nothing }
        defer { isLineHeld = false }
        account.outputBytes = now.outputBytes
        if peer.hasReachedEnd, !hasMore {
            reading = .over
            return .releaseProvider
        }
        if !hasRoom { return stop(until: .room, isPaused) }
        if now.isGroupFull, isLineHeld || !account.isSettled { return stop(until: .group, isPaused) }
        if share.isUsedUp { return stop(until: .turn, isPaused) }
        reading = .open
        return isPaused ? .resumeReading : closeIfDone()
    }

    private mutating func stop(until awaited: Awaited, _ isPaused: Bool) -> Order {
        reading = .paused(until: awaited)
        return isPaused ? .stayPaused(until: awaited) : .pause(until: awaited)
    }

    mutating func readingResumed() -> Order { closeIfDone() }

    mutating func providerGone() -> Order { closeIfDone() }

    // MARK: The account

    /// Counts messages that begin, and the bytes of their lines.
    mutating func took(_ messages: Int, bytes: Int) {
        account.take(messages, bytes: bytes)
    }

    /// Handles that messages are answered or finished, which makes room for others.
    mutating func settled(_ messages: Int, bytes: Int, _ now: Dependencies) -> Order {
        account.release(messages, bytes: bytes)
        return roomChanged(now)
    }

    /// Counts an answer that waits for the other answers of its batch.
    mutating func kept(bytes: Int) {
        account.keep(bytes: bytes)
    }

    /// Handles that a batch has ended. Its answers are sent, or dropped if the client has disconnected.
    mutating func batchEnded(keptBytes: Int, requestBytes: Int, _ now: Dependencies) -> Order {
        account.releaseKept(bytes: keptBytes)
        return settled(0, bytes: requestBytes, now)
    }

    /// Handles that the account may have room again, for example because the client has read answers.
    mutating func roomChanged(_ now: Dependencies) -> Order {
        account.outputBytes = now.outputBytes
        guard reading == .paused(until: .room), hasRoom else { return closeIfDone() }
        reading = .paused(until: .endOfTurn)
        return .stayPaused(until: .endOfTurn)
    }

    /// Applies new limits.
    mutating func limitsChanged(to limits: Limits, _ now: Dependencies) -> Order {
        self.limits = limits
        return roomChanged(now)
    }

    // MARK: Awaited events

    mutating func groupHasRoom() -> Order {
        guard reading == .paused(until: .group) else { return .nothing }
        reading = .taking(whilePaused: true)
        return .takeLines
    }

    mutating func turnCame() -> Order {
        guard reading == .paused(until: .turn) else { return .nothing }
        share.renew(within: userShare)
        if share.isUsedUp { return .stayPaused(until: .turn) }
        reading = .taking(whilePaused: true)
        return .takeLines
    }

    mutating func turnEnded() -> Order {
        guard reading == .paused(until: .endOfTurn) else { return .nothing }
        // Sessions that continued before may have used the room, so it is checked again.
        reading = .taking(whilePaused: true)
        return .takeLines
    }

    // MARK: Requests to the client

    mutating func requestedClient() {
        requested += 1
    }

    /// Handles that the client has answered a request, or that the daemon has withdrawn the request.
    mutating func clientAnswered() -> Order {
        requested -= 1
        return closeIfDone()
    }

    // MARK: The end

    /// Ends the session in order: all open calls and requests to the client are answered first.
    mutating func ends() -> Order {
        if ending == .none { ending = .requested }
        return closeIfDone()
    }

    /// Handles that the client has disconnected completely. If only its sending side has ended, call ``endReached()``.
    mutating func peerLost() -> Order {
        guard reading != .closed, !peer.isLost else { return .nothing }
        peer = peer.hasReachedEnd ? .gone : .leaving
        return .endWaits
    }

    /// Handles that the calls of a disconnected client have ended. From now on only the store and the turn's share
    /// limit the reading of its remaining data.
    mutating func waitsEnded() -> Order {
        guard reading == .paused(until: .room) else { return closeIfDone() }
        reading = .paused(until: .endOfTurn)
        return .stayPaused(until: .endOfTurn)
    }

    /// Handles that the time to read a disconnected client's data is over.
    mutating func graceOver() -> Order {
        reading == .closed ? .nothing : .close
    }

    /// Handles that the connection has closed.
    mutating func closed() {
        reading = .closed
    }

    /// Closes the connection when no answer is owed by either side. All lines are taken before. If the client has
    /// disconnected, its remaining data is read before, too.
    private mutating func closeIfDone() -> Order {
        let isDue = reading == .over || ending == .requested && reading == .open && !peer.isLost
        guard isDue, ending != .ordered else { return .nothing }
        if !peer.isLost {
            guard account.isSettled, peer.hasReachedEnd || requested == 0 else { return .nothing }
        }
        ending = .ordered
        return peer.isLost ? .close : .closeAfterFlush
    }
}

/// The messages and bytes that one connection makes the daemon keep (Behaviour X2). The session stops reading while the
/// account is full.
struct SessionAccount: Equatable {
    /// The number of unfinished messages: requests without an answer, and notifications in progress.
    private(set) var inProgress = 0
    /// The bytes of the unfinished messages' lines. A batch's line counts until its last message is finished, because
    /// each message may refer to it.
    private(set) var requestBytes = 0
    /// The bytes of finished answers that wait for the other answers of their batch.
    private(set) var keptBytes = 0
    /// The bytes of output that the client has not read.
    var outputBytes = 0

    /// A Boolean value that says whether no answer is owed to the client.
    var isSettled: Bool { inProgress == 0 }

    /// Returns true if another line may be taken. A line is always taken whole, so one line may exceed a limit. A batch
    /// may finish, or be refused in part, whatever it needs.
    func hasRoom(within limits: Limits) -> Bool { fullPart(within: limits) == nil }

    /// Returns the limit that forbids another line, or nil if the account has room.
    func fullPart(within limits: Limits) -> SessionMachine.Stop? {
        if inProgress >= limits.maxUnanswered { return .unanswered }
        if requestBytes >= limits.maxUnansweredBytes { return .unansweredBytes }
        return keptBytes + outputBytes >= limits.maxOutputBytes ? .unreadAnswers : nil
    }

    mutating func take(_ messages: Int, bytes: Int) {
        inProgress += messages
        requestBytes += bytes
    }

    mutating func release(_ messages: Int, bytes: Int) {
        inProgress -= messages
        requestBytes -= bytes
    }

    mutating func keep(bytes: Int) {
        keptBytes += bytes
    }

    mutating func releaseKept(bytes: Int) {
        keptBytes -= bytes
    }
}

/// The work that one session may do in a turn of the loop, so that no client delays the others (Behaviour X3). Work is
/// counted and not measured, so that the same bytes take the same turns on every machine.
struct TurnShare: Equatable {
    /// The share of a turn, in units of one tracked event. It is about a millisecond of work, and as much as a client
    /// usually has in flight.
    static let whole = 512
    /// The bytes of a line that count as one unit.
    static let lineBytes = 256
    /// The extra units of a refused line, which needs an answer of its own.
    static let refusal = 1
    /// The extra units of an event in a batch or in a notification.
    static let event = 1
    /// The extra units of any other method call.
    static let call = 15
    /// The extra units of a call that changes something: barriers are evaluated again, and the change is logged.
    static let operation = 64
    /// The extra units of a reload of the settings, which reads and validates all of them.
    static let reload = 256
    /// The bytes of a call's answer that count as one unit.
    static let answerBytes = 32

    private(set) var left = TurnShare.whole

    var isUsedUp: Bool { left <= 0 }

    /// Starts a new turn. Units that were overspent before are deducted, because one line may contain a thousand calls.
    /// - Parameter most: the units that the user has left. If there are none, the session has to wait.
    mutating func renew(within most: Int = TurnShare.whole) {
        left = most > 0 ? min(TurnShare.whole, most) + min(left, 0) : min(left, 0)
    }

    /// Spends the units of a line of this size.
    mutating func spend(line bytes: Int) {
        spend(max(1, bytes / TurnShare.lineBytes))
    }

    /// Spends the units of an answer of this size.
    mutating func spend(answer bytes: Int) {
        spend(bytes / TurnShare.answerBytes)
    }

    mutating func spend(_ units: Int = 1) {
        left -= units
    }
}
