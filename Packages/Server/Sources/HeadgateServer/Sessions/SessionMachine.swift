/// Decides when a session reads, and when it closes its connection.
///
/// Facts go in; each gives back one order, and what is told when that is carried out may give back the next.
/// ``Session/perform(_:)`` carries them out. There is no clock and no I/O in it, and nothing is allocated.
struct SessionMachine {
    /// What to do.
    enum Order: Equatable {
        case nothing
        /// Take line after line as long as ``mayTakeLine(_:)`` says so, and tell ``linesTaken(hasMore:_:)``.
        case takeLines
        /// Read no more from the connection until this has come.
        case pause(until: Awaited)
        /// The connection is paused already, and stays so until this has come.
        case stayPaused(until: Awaited)
        /// Read on from the connection, and tell ``readingResumed()``.
        case resumeReading
        /// The client does nothing for others any more. Tell ``providerGone()``.
        case letProviderGo
        /// Nobody is there to be told anything: end what the client waits for, bound how long it takes to read the rest,
        /// and tell ``waitsEnded()``.
        case endWaits
        /// Close the connection once all output has gone out.
        case closeAfterFlush
        /// Close the connection at once.
        case close
    }

    /// What a paused session awaits.
    enum Awaited: Equatable {
        /// Room in its account: facts of that come by themselves.
        case room
        /// Room in the group of events in the making. Tell ``groupHasRoom()``, at the end of a turn.
        case group
        /// A later turn of the loop, in which it has a share again. Tell ``turnCame()``.
        case turn
        /// The end of this turn: what made room may be a message of another session, whose line is still in the one decoder,
        /// with more messages in it. Tell ``turnEnded()``.
        case endOfTurn
    }

    /// Whether the session reads.
    enum Reading: Equatable {
        /// What comes on the connection is read, and its lines are taken.
        case open
        /// Lines are being taken, while the connection is read or paused.
        case taking(whilePaused: Bool)
        /// The connection is paused, and lines wait, until this has come.
        case paused(until: Awaited)
        /// The client sends nothing more, and all its lines are taken.
        case over
        /// The connection is closed.
        case closed
    }

    /// What is known of the other end of the connection.
    enum Peer: Equatable {
        case present
        /// It sends nothing more and takes its answers (Protocol, Framing).
        case finished
        /// It is gone, for good. What it sent before is still being read.
        case leaving
        /// It is gone, and what it sent has been read.
        case gone

        /// Whether all that it sent has come.
        var hasReachedEnd: Bool { self == .finished || self == .gone }
        /// Whether it takes nothing any more.
        var isLost: Bool { self == .leaving || self == .gone }
    }

    /// What the session does not decide and has to know.
    struct Surroundings: Equatable {
        /// Output that the client has not taken.
        var outputBytes = 0
        /// Whether the group of events in the making has no room.
        var isGroupFull = false
    }

    private(set) var reading = Reading.open
    private(set) var peer = Peer.present
    private(set) var account = SessionAccount()
    /// What it may still do in this turn.
    var share = TurnShare()
    private var limits: Limits
    /// How many requests the client has not answered.
    private(set) var asked = 0
    /// Whether the session ends when what was begun is done.
    private var isEnding = false
    private var isClosing = false

    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether anybody takes what is written.
    var isListening: Bool { !peer.isLost && reading != .closed }

    /// Whether an answer to what the client is asked may still come.
    var mayAnswer: Bool { !peer.hasReachedEnd && reading != .closed }

    /// Whether the client's account lets it ask for more. Of one that is gone nothing is kept that would have to be bounded:
    /// what it sent is read to its end.
    private var hasRoom: Bool { peer.isLost || account.hasRoom(within: limits) }

    /// Why a client is not read.
    enum Stop: String, CaseIterable, Sendable {
        /// It has as many requests unanswered as it may have.
        case unanswered
        /// Its unanswered requests are as long in all as they may be.
        case unansweredBytes = "unanswered_bytes"
        /// It does not read its answers.
        case unreadAnswers = "unread_answers"
        /// The store has as much to write at once as it takes.
        case storing
    }

    /// Why the client is not read; nil while it is, or is again in this turn or the next.
    func stop(_ now: Surroundings) -> Stop? {
        switch reading {
        case .paused(until: .room):
            var account = account
            account.outputBytes = now.outputBytes
            // A connection says that it has room when all output is taken: until then the client is not read.
            return account.fullPart(within: limits) ?? .unreadAnswers
        case .paused(until: .group): return .storing
        case .paused, .open, .taking, .over, .closed: return nil
        }
    }

    // MARK: Lines

    /// Bytes have come, which the session has.
    mutating func bytesCame() -> Order {
        guard reading == .open else { return .nothing }
        share.renew()
        reading = .taking(whilePaused: false)
        return .takeLines
    }

    /// The client sends nothing more: its last line may have no end.
    mutating func endReached() -> Order {
        peer = peer.isLost ? .gone : .finished
        guard reading == .open else { return .nothing }
        reading = .taking(whilePaused: false)
        return .takeLines
    }

    /// Whether the session may take its next line now.
    mutating func mayTakeLine(_ now: Surroundings) -> Bool {
        account.outputBytes = now.outputBytes
        guard case .taking = reading else { return false }
        return !share.isUsedUp && !now.isGroupFull && hasRoom
    }

    /// No further line is taken: there is none that is whole, or none may be.
    /// - Parameter hasMore: whether bytes are left.
    mutating func linesTaken(hasMore: Bool, _ now: Surroundings) -> Order {
        guard case .taking(let isPaused) = reading else { return .nothing }
        account.outputBytes = now.outputBytes
        if peer.hasReachedEnd, !hasMore {
            reading = .over
            return .letProviderGo
        }
        if !hasRoom { return stop(until: .room, isPaused) }
        if now.isGroupFull { return stop(until: .group, isPaused) }
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

    /// Messages of so many bytes in all are worked on.
    mutating func took(_ messages: Int, bytes: Int) {
        account.take(messages, bytes: bytes)
    }

    /// Messages are answered or done, and make room for others.
    mutating func settled(_ messages: Int, bytes: Int, _ now: Surroundings) -> Order {
        account.release(messages, bytes: bytes)
        return roomChanged(now)
    }

    /// An answer waits for the rest of its batch.
    mutating func kept(bytes: Int) {
        account.keep(bytes: bytes)
    }

    /// A batch has come to its end. Its answers are sent, or nobody is there to take them.
    mutating func letGo(keptBytes: Int, requestBytes: Int, _ now: Surroundings) -> Order {
        account.letGo(bytes: keptBytes)
        return settled(0, bytes: requestBytes, now)
    }

    /// There may be room where there was none: answers have been taken by the client, say.
    mutating func roomChanged(_ now: Surroundings) -> Order {
        account.outputBytes = now.outputBytes
        guard reading == .paused(until: .room), hasRoom else { return closeIfDone() }
        reading = .paused(until: .endOfTurn)
        return .stayPaused(until: .endOfTurn)
    }

    /// Other limits are in force.
    mutating func limitsChanged(to limits: Limits, _ now: Surroundings) -> Order {
        self.limits = limits
        return roomChanged(now)
    }

    // MARK: What is awaited

    mutating func groupHasRoom() -> Order {
        guard reading == .paused(until: .group) else { return .nothing }
        reading = .taking(whilePaused: true)
        return .takeLines
    }

    mutating func turnCame() -> Order {
        guard reading == .paused(until: .turn) else { return .nothing }
        share.renew()
        if share.isUsedUp { return .stayPaused(until: .turn) }
        reading = .taking(whilePaused: true)
        return .takeLines
    }

    mutating func turnEnded() -> Order {
        guard reading == .paused(until: .endOfTurn) else { return .nothing }
        // Those that went on before may have taken the room: it is looked at again.
        reading = .taking(whilePaused: true)
        return .takeLines
    }

    // MARK: What the client is asked

    mutating func askedClient() {
        asked += 1
    }

    /// The client has answered, or nobody waits for its answer any more.
    mutating func clientAnswered() -> Order {
        asked -= 1
        return closeIfDone()
    }

    // MARK: The end

    /// The session ends in order: what the client has asked is answered, and what it was asked it may answer.
    mutating func ends() -> Order {
        isEnding = true
        return closeIfDone()
    }

    /// The client is gone, not only its sending side.
    mutating func peerLost() -> Order {
        guard reading != .closed, !peer.isLost else { return .nothing }
        peer = peer.hasReachedEnd ? .gone : .leaving
        return .endWaits
    }

    /// What the client waited for has ended: nothing but the store and the turns of others bounds its reading any more.
    mutating func waitsEnded() -> Order {
        guard reading == .paused(until: .room) else { return closeIfDone() }
        reading = .paused(until: .endOfTurn)
        return .stayPaused(until: .endOfTurn)
    }

    /// What a lost client sent has had its time to be read.
    mutating func graceOver() -> Order {
        reading == .closed ? .nothing : .close
    }

    /// The connection has closed.
    mutating func closed() {
        reading = .closed
    }

    /// Closes once nothing is owed to the client, nor by one that is still there. Lines that wait to be taken come first,
    /// and of a client that is gone also those that wait to be read.
    private mutating func closeIfDone() -> Order {
        guard !isClosing, reading == .over || isEnding && reading == .open && !peer.isLost else { return .nothing }
        if peer.isLost {
            isClosing = true
            return .close
        }
        guard account.isSettled, peer.hasReachedEnd || asked == 0 else { return .nothing }
        isClosing = true
        return .closeAfterFlush
    }
}

/// All that one connection makes the daemon keep (Behaviour X2): when it is full, reading stops until there is room.
struct SessionAccount: Equatable {
    /// Messages that are being worked on or waited for: requests that are not answered, and notifications that are not done.
    private(set) var underWay = 0
    /// Bytes of their lines. A batch's stay until its last message is done, for any of them may hold on to its params.
    private(set) var requestBytes = 0
    /// Bytes of answers that are finished and wait for the rest of their batch.
    private(set) var keptBytes = 0
    /// Bytes of output that the client has not taken.
    var outputBytes = 0

    /// Whether nothing is owed to the client.
    var isSettled: Bool { underWay == 0 }

    /// Whether another line may be taken. One line is always taken whole, so the account may go beyond a limit by as much
    /// as one line asks for, and a batch may complete, or be refused in part, whatever it needs.
    func hasRoom(within limits: Limits) -> Bool { fullPart(within: limits) == nil }

    /// What there is too much of for another line to be taken.
    func fullPart(within limits: Limits) -> SessionMachine.Stop? {
        if underWay >= limits.maxUnanswered { return .unanswered }
        if requestBytes >= limits.maxUnansweredBytes { return .unansweredBytes }
        return keptBytes + outputBytes >= limits.maxOutputBytes ? .unreadAnswers : nil
    }

    mutating func take(_ messages: Int, bytes: Int) {
        underWay += messages
        requestBytes += bytes
    }

    mutating func release(_ messages: Int, bytes: Int) {
        underWay -= messages
        requestBytes -= bytes
    }

    mutating func keep(bytes: Int) {
        keptBytes += bytes
    }

    mutating func letGo(bytes: Int) {
        keptBytes -= bytes
    }
}

/// What one session may still do in a turn of the loop, so that whoever sends much, or what is dear to answer, does not
/// keep the others waiting (Behaviour X3). Counted and not timed: the same bytes take the same turns everywhere.
struct TurnShare: Equatable {
    /// In units of a tracked event: about a millisecond, as a client's usual window takes.
    static let whole = 512
    /// Bytes of a line that are a unit: a long event is much to read and to store.
    static let lineBytes = 256
    /// What a line that is refused takes beyond that: its answer is made for it alone.
    static let refusal = 1
    /// What an event takes beyond that in a batch or as a notification.
    static let event = 1
    /// What any other method call takes beyond that.
    static let call = 15
    /// Bytes of a call's answer that are a unit more: some tell much.
    static let answerBytes = 32

    private(set) var left = TurnShare.whole

    var isUsedUp: Bool { left <= 0 }

    /// The next turn has come. What was overspent counts in it: one line can hold a thousand calls.
    mutating func renew() {
        left = TurnShare.whole + min(left, 0)
    }

    /// A line of so many bytes has come.
    mutating func spend(line bytes: Int) {
        spend(max(1, bytes / TurnShare.lineBytes))
    }

    /// A call was answered with so many bytes.
    mutating func spend(answer bytes: Int) {
        spend(bytes / TurnShare.answerBytes)
    }

    mutating func spend(_ units: Int = 1) {
        left -= units
    }
}
