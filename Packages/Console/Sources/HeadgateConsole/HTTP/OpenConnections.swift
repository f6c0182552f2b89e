/// The open connections of the HTTP server, each with the phase of its request and the deadline of that phase. Chooses
/// the connection to close when there are too many. A pure value.
///
/// A client has a fixed time for the whole head of a request, and the same time for its body. Single bytes do not
/// extend it. An idle connection counts as one whose next head is being read.
struct OpenConnections<ID: Hashable> {
    /// The time for a head, and for a body.
    let timeLimit: Duration
    /// The most connections.
    let most: Int

    /// The part of a request that a connection has reached. A report about an unknown connection is ignored.
    enum Phase {
        /// The head of the next request is awaited or read, for the fixed time at most. Next: `body`.
        case head
        /// The body is read, for the fixed time at most. Next: `answering`.
        case body
        /// The server has the whole request, and answers without a time limit. Next: `head`, after the answer.
        case answering
    }

    private struct Connection {
        let number: Int
        var phase: Phase
        /// The time at which the phase must have ended.
        var deadline: Duration
        var hasSession = false
        /// True if the connection is to be closed to make room for another one.
        var isLeaving = false
    }

    private var connections: [ID: Connection] = [:]
    /// The number of connections that are to be closed and are still open.
    private var leaving = 0
    private var next = 0

    init(most: Int, timeLimit: Duration) {
        (self.most, self.timeLimit) = (most, timeLimit)
    }

    var count: Int { connections.count }
    var all: some Sequence<ID> { connections.keys }

    /// Returns the part of a request that a connection has reached, or nil if it is unknown.
    func phase(of id: ID) -> Phase? { connections[id]?.phase }

    /// Adds a connection.
    /// - Returns: the connection to close if there are too many: the oldest one without a session. Each call returns
    ///   another one, because several connections may be opened before the first of them is closed.
    mutating func opened(_ id: ID, at now: Duration) -> ID? {
        next += 1
        connections[id] = Connection(number: next, phase: .head, deadline: now + timeLimit)
        guard connections.count - leaving > most else { return nil }
        let surplus = connections.filter { !$0.value.hasSession && !$0.value.isLeaving }
            .min { $0.value.number < $1.value.number }?.key
        guard let surplus else { return nil }
        connections[surplus]?.isLeaving = true
        leaving += 1
        return surplus
    }

    /// Records that a connection has reached a part of a request, and sets its next deadline.
    mutating func reached(_ phase: Phase, _ id: ID, at now: Duration) {
        connections[id]?.phase = phase
        connections[id]?.deadline = now + timeLimit
    }

    /// Records that a connection's client has a session or the token.
    mutating func signedIn(_ id: ID) { connections[id]?.hasSession = true }

    mutating func closed(_ id: ID) {
        if connections.removeValue(forKey: id)?.isLeaving == true { leaving -= 1 }
    }

    /// Returns the connections whose head or body has taken too long.
    func overdue(at now: Duration) -> [ID] {
        connections.filter { $0.value.phase != .answering && $0.value.deadline <= now }.map(\.key)
    }
}
