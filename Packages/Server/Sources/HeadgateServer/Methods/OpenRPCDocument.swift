import HeadgateData
import HeadgateWire

/// The protocol in a form that programs read, as `rpc.discover` gives it (https://spec.open-rpc.org). All of it follows from
/// the declarations of the methods; `Tools/protocol` writes it down, and what follows from it in turn.
enum OpenRPCDocument {
    static let document: DataObject = [
        "openrpc": "1.3.2", "info": .object(info), "methods": .array(methods.map(\.item)),
        "components": ["schemas": .object(schemas), "errors": .object(errors)],
    ]

    /// ``document`` as it is sent. It is the same for all who ask, and has thirty KB.
    static let json: [UInt8] = {
        var writer = JSONWriter()
        writer.object(document)
        return writer.bytes
    }()

    private static let info: DataObject = [
        "title": "Headgate",
        "description": """
        JSON-RPC 2.0, one message a line, over a Unix stream socket. Docs/Protocol.md says the rest in words. \
        The lengths of strings are counted in bytes of UTF-8.
        """,
        "version": .string(Version.current), "x-protocol": 1,
    ]

    /// All that clients may call, in the order of the families, and then what the server sends.
    private static var methods: [Entry] {
        MethodTable.all.map(Entry.init) + MethodTable.families.flatMap(\.messages).map(Entry.init)
    }

    private static var schemas: DataObject {
        let named = Schema.either(methods.flatMap(\.schemas)).named
        return DataObject(named.sorted { $0.key < $1.key }.map { ($0.key, $0.value.item) })
    }

    private static var errors: DataObject {
        DataObject(ErrorReason.allCases.map { ($0.rawValue, error($0)) })
    }

    private static func error(_ reason: ErrorReason) -> DataItem {
        [
            "code": .number(DataNumber(RPCError.serviceCode)), "message": .string(reason.usualMessage),
            "data": ["reason": .string(reason.rawValue)],
        ]
    }
}

/// A method, of clients or of the server, as OpenRPC describes it.
private struct Entry {
    let schemas: [Schema]
    let item: DataItem

    init(_ method: Method) {
        schemas = method.params.map(\.schema) + [method.result]
        var object = Entry.object(method.name, method.summary, method.params, "client-to-server")
        object["x-group"] = .string(method.group.rawValue)
        if method.changesNothing { object["x-changes-nothing"] = true }
        object["result"] = Entry.result(method.result)
        if !method.reasons.isEmpty {
            object["errors"] = .array(method.reasons.map { ["$ref": .string("#/components/errors/\($0.rawValue)")] })
        }
        item = .object(object)
    }

    init(_ message: ServerMessage) {
        schemas = message.params.map(\.schema) + [message.result].compactMap(\.self)
        let direction = message.result == nil ? "server-notification" : "server-to-client"
        var object = Entry.object(message.name, message.summary, message.params, direction)
        object["result"] = message.result.map(Entry.result)
        item = .object(object)
    }

    private static func object(
        _ name: StaticString, _ summary: String, _ params: [Schema.Member], _ direction: String
    ) -> DataObject {
        [
            "name": .string(name.description), "summary": .string(summary), "paramStructure": "by-name",
            "params": .array(params.map(param)), "x-direction": .string(direction),
        ]
    }

    private static func param(_ member: Schema.Member) -> DataItem {
        var object: DataObject = ["name": .string(member.name)]
        object["description"] = member.note.map { .string($0) }
        object["required"] = .bool(member.isRequired)
        object["schema"] = member.item
        return .object(object)
    }

    private static func result(_ schema: Schema) -> DataItem {
        ["name": "result", "schema": schema.item]
    }
}
