/// The open connections of the HTTP server: how far each has got, until when it must have got further, and which one
/// makes room for a new one. Pure.
///
/// A client has a fixed time for the whole head of a request, and the same time for its body. Single bytes do not
/// extend it. An idle connection counts as one whose next head is being read.
struct OpenConnections<ID: Hashable> {
    /// The time for a head, and for a body.
    let patience: Duration
    /// The most connections.
    let most: Int

    /// The part of a request that a connection has reached.
    enum Phase {
        case head, body, answering
    }

    private struct Connection {
        let number: Int
        var phase: Phase
        /// The time of the phase's end at the latest.
        var deadline: Duration
        var hasSession = false
    }

    private var connections: [ID: Connection] = [:]
    private var next = 0

    init(most: Int, patience: Duration) {
        (self.most, self.patience) = (most, patience)
    }

    var count: Int { connections.count }
    var all: some Sequence<ID> { connections.keys }

    /// Returns the part of a request that a connection has reached, or nil if it is unknown.
    func phase(of id: ID) -> Phase? { connections[id]?.phase }

    /// Adds a connection.
    /// - Returns: the connection to close if there are too many: the oldest one without a session.
    mutating func opened(_ id: ID, at now: Duration) -> ID? {
        next += 1
        connections[id] = Connection(number: next, phase: .head, deadline: now + patience)
        guard connections.count > most else { return nil }
        return connections.filter { !$0.value.hasSession }.min { $0.value.number < $1.value.number }?.key
    }

    /// A connection has reached a part of a request.
    mutating func reached(_ phase: Phase, _ id: ID, at now: Duration) {
        connections[id]?.phase = phase
        connections[id]?.deadline = now + patience
    }

    /// A connection's client has a session or the token.
    mutating func signedIn(_ id: ID) { connections[id]?.hasSession = true }

    mutating func closed(_ id: ID) { connections[id] = nil }

    /// Returns the connections whose head or body has taken too long.
    func overdue(at now: Duration) -> [ID] {
        connections.filter { $0.value.phase != .answering && $0.value.deadline <= now }.map(\.key)
    }
}
