import HeadgateData
import HeadgateWire

/// The protocol in a form that programs read, as `rpc.discover` gives it (https://spec.open-rpc.org).
enum OpenRPCDocument {
    static let document: DataObject = [
        "openrpc": "1.3.2", "info": .object(info), "methods": .array(methods),
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
        "description":
            "JSON-RPC 2.0, one message a line, over a Unix stream socket. Docs/Protocol.md says the rest in words.",
        "version": .string(Version.current), "x-protocol": 1,
    ]

    private static var methods: [DataItem] {
        let groups = Dictionary(uniqueKeysWithValues: MethodTable.all.map { ($0.name, $0.group) })
        return MethodDescription.all.map { $0.item(group: groups[$0.name]) }
            + MethodDescription.toClients.map { $0.item(group: nil) }
    }

    private static var schemas: DataObject {
        DataObject(SharedSchema.allCases.map { ($0.rawValue, $0.schema.item) })
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
