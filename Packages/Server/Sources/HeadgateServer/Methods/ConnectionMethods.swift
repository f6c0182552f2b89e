import Glibc
import HeadgateData
import HeadgateWire

/// `hello`, `ping` and `rpc.discover`.
enum ConnectionMethods {
    static let all = [
        Method("hello", .track, hello), Method("ping", .track, ping), Method("rpc.discover", .track, discover),
    ]

    private static let protocolNumber = 1

    private static func hello(_ service: Service, _ call: Call) throws(RPCError) {
        let reader = call.reader
        let client = try reader.requiredObject("client")
        let name = try client.required("name", upTo: Limits.longestName)
        let version = try client.optional("version", upTo: Limits.longestName)
        let namespace: String? = try reader.optional("namespace")
        let number: Int? = try reader.optional("protocol")
        guard number ?? protocolNumber == protocolNumber else {
            throw RPCError(.conflict, "this daemon speaks protocol \(protocolNumber)")
        }
        guard !call.session.hasSpoken else { throw RPCError(.conflict, "hello comes first, and once") }
        if let namespace { try check(namespace, of: call.session.caller, reader) }
        call.session.hasSpoken = true
        call.session.caller.client = version.map { "\(name)/\($0)" } ?? name
        call.session.caller.namespace = namespace ?? call.session.caller.namespace
        call.session.collectContext()
        service.watches.clientsChanged()
        answer(service, call)
    }

    /// Nobody may take the namespace that another user has by default.
    private static func check(_ namespace: String, of caller: Caller, _ reader: ParameterReader) throws(RPCError) {
        guard !namespace.isEmpty, namespace.utf8.count <= 256 else {
            throw reader.fault("namespace", "must have 1 to 256 bytes")
        }
        guard !namespace.hasPrefix("uid:") || namespace == caller.namespace else {
            throw reader.fault("namespace", "must not begin with \"uid:\"")
        }
    }

    private static func answer(_ service: Service, _ call: Call) {
        let server: DataObject = [
            "name": "headgate", "version": .string(Version.current), "pid": .number(DataNumber(Int(getpid()))),
        ]
        call.reply.answer([
            "server": .object(server), "protocol": .number(DataNumber(protocolNumber)),
            "session": .string(call.session.name), "limits": .object(service.settings.limits.object),
        ])
    }

    private static func ping(_ service: Service, _ call: Call) throws(RPCError) {
        call.reply.answer()
    }

    private static func discover(_ service: Service, _ call: Call) throws(RPCError) {
        call.reply.answer { $0.raw(OpenRPCDocument.json) }
    }
}
