import HeadgateWire

/// Groups of methods, to which users may be given access (Behaviour X1).
enum MethodGroup: String, CaseIterable, Sendable {
    /// What everyone may do who can connect.
    case track
    /// Looking.
    case observe
    /// Steering.
    case control
    /// Taking dispatches and serving boards.
    case serve
}

/// A method of the protocol.
struct Method: Sendable {
    let name: String
    let group: MethodGroup
    /// Carries the method out; the answer may come later.
    let run: @Sendable (Service, Call) throws(RPCError) -> Void

    init(_ name: String, _ group: MethodGroup, _ run: @escaping @Sendable (Service, Call) throws(RPCError) -> Void) {
        self.name = name
        self.group = group
        self.run = run
    }
}

/// One call of a method. The params are only valid until the method returns.
struct Call {
    let session: Session
    let params: JSONView?
    let reply: Reply

    /// Reads the params, member by member.
    var reader: ParameterReader { ParameterReader(params) }
}
