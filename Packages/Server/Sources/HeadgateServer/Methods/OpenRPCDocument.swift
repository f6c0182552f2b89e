import HeadgateData
import HeadgateWire

/// The protocol as an OpenRPC document (https://spec.open-rpc.org), which `rpc.discover` returns. It is made from the
/// declarations of the methods. `Tools/protocol` writes it to a file and generates documents and clients from it.
enum OpenRPCDocument {
    static let document: DataObject = [
        "openrpc": "1.3.2", "info": .object(info), "methods": .array(methods.map(\.item)),
        "components": ["schemas": .object(schemas), "errors": .object(errors)],
    ]

    /// The rendered ``document``. It has thirty KB and is the same in every answer.
    static let json: [UInt8] = {
        var writer = JSONWriter()
        writer.object(document)
        return writer.bytes
    }()

    private static let info: DataObject = [
        "title": "Headgate",
        "description": """
        JSON-RPC 2.0, one message a line, over a Unix stream socket. Docs/Protocol.md describes the rest. \
        The lengths of strings are counted in bytes of UTF-8.
        """,
        "version": .string(Version.current), "x-protocol": 1,
    ]

    /// The entries of all methods for clients, in the order of the families, then those of the daemon's messages.
    private static var methods: [Entry] {
        MethodTable.all.map(Entry.init) + MethodTable.messages.map(Entry.init)
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
            "code": .number(DataNumber(RPCError.serviceCode)), "message": .string(reason.defaultMessage),
            "data": ["reason": .string(reason.rawValue)],
        ]
    }
}

/// The OpenRPC entry of a method of clients or of the daemon.
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
