import HeadgateWire

/// A family of methods, and the messages of the daemon that belong to it. A value has the parts of the server that the
/// methods of the family use, and no others.
protocol MethodFamily {
    static var methods: [FamilyMethod<Self>] { get }
    static var messages: [ServerMessage] { get }
}

extension MethodFamily {
    static var messages: [ServerMessage] { [] }

    /// The declarations of the methods.
    static var declarations: [Method] { methods.map(\.declaration) }

    /// The methods with their code, which uses the parts of this value.
    var calls: [MethodCall] {
        Self.methods.map { method in
            MethodCall(method: method.declaration) { call throws(RPCError) in try method.run(self, call) }
        }
    }
}

/// A method that can be called.
struct MethodCall {
    let method: Method
    /// Runs the method. The answer may be sent later.
    let run: (Call) throws(RPCError) -> Void
}

/// A method of a family: its declaration and its code. Descriptions, checks and execution of the method all use this one
/// declaration.
struct FamilyMethod<Parts>: Sendable {
    let declaration: Method
    /// Runs the method with the parts of the server that its family has. The answer may be sent later.
    let run: @Sendable (Parts, Call) throws(RPCError) -> Void

    /// Declares a method whose parameters are read before it runs. The method gets only the values, so it cannot read
    /// undeclared parameters, and every value has been checked.
    init<each Value>(
        _ name: StaticString, _ group: MethodGroup, _ summary: String, changesNothing: Bool = false,
        _ params: repeat Field<each Value>, result: Schema = .empty, reasons: [ErrorReason] = [],
        run: @escaping @Sendable (Parts, Call, repeat each Value) throws(RPCError) -> Void
    ) {
        var members: [Schema.Member] = []
        for param in repeat each params { members.append(param.member) }
        self.init(
            name, group, summary, changesNothing: changesNothing, readingItself: members, result: result,
            reasons: reasons
        ) { parts, call, view throws(RPCError) in
            let values: (repeat each Value)
            do throws(ParameterFault) {
                values = (repeat try (each params).read(view))
            } catch {
                throw RPCError(error)
            }
            try run(parts, call, repeat each values)
        }
    }

    /// Declares a method that reads its parameters itself, because copying them would be too slow. A test compares its
    /// code with the declaration.
    init(
        _ name: StaticString, _ group: MethodGroup, _ summary: String, changesNothing: Bool = false,
        readingItself params: [Schema.Member], result: Schema = .empty, reasons: [ErrorReason] = [],
        run: @escaping @Sendable (Parts, Call, JSONView?) throws(RPCError) -> Void
    ) {
        declaration = Method(
            name: name, group: group, summary: summary, changesNothing: changesNothing, params: params, result: result,
            reasons: reasons)
        self.run = { parts, call throws(RPCError) in try run(parts, call, call.params) }
    }
}
