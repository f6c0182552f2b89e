import Glibc
import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `hello`, `ping`, `rights`, `rpc.discover` and `application.status`, and the notification `closing`.
struct ConnectionMethods: MethodFamily {
    let statuses: AnnouncedStatuses
    let watches: Watches
    let control: SettingsControl
    /// Returns the description of the protocol in JSON.
    let description: () -> [UInt8]

    private static let protocolNumber = 1

    // MARK: hello

    private struct Client {
        let name: String
        let version: String?
    }

    private static let client = Shape.object(
        Field("name", .string(0...Limits.longestName)), Field(optional: "version", .string(0...Limits.longestName)),
        make: Client.init)

    private static let hello = FamilyMethod<Self>(
        "hello", .track, "Identifies the client. Optional. If sent, it must be the first request.",
        Field("client", client),
        Field(
            optional: "namespace", .string(1...256),
            "the namespace of the client's event ids, for its user alone; by default `uid:` and the user's number"),
        Field(
            optional: "protocol", .integer, default: protocolNumber,
            "the protocol's version; the daemon refuses another one with the reason `conflict`"),
        result: greeting.schema, reasons: [.conflict]
    ) { parts, call, client, namespace, number throws(RPCError) in
        guard number == protocolNumber else {
            throw RPCError(.conflict, "this daemon speaks protocol \(protocolNumber)")
        }
        guard !call.session.hasSpoken else {
            throw RPCError(.conflict, "hello must be the first request, and sent only once")
        }
        if let namespace { try check(namespace, of: call.session.caller) }
        let name = client.version.map { "\(client.name)/\($0)" } ?? client.name
        call.session.introduce(as: name, namespace: namespace)
        parts.watches.clientsChanged()
        call.reply.answer(greeting, (call.session.name, parts.control.inForce.limits))
    }

    /// Refuses a namespace of another user (Behaviour X5).
    private static func check(_ namespace: String, of caller: Caller) throws(RPCError) {
        guard !UserNamespace.isForeign(namespace, to: caller.credentials.uid) else {
            throw .invalidParams(
                path: "namespace", "must not begin with \"uid:\", except for a namespace of your own user")
        }
    }

    private static let greeting = OutputShape<(session: String, limits: Limits)>.object([
        .required("server", server, { _ in }), .required("protocol", .positive, { _ in protocolNumber }),
        .required("session", .name, \.session),
        .required("limits", OutputShape(.dictionary(.count)) { $1.object($0) }, \.limits.inGreeting),
    ])

    private static let server = OutputShape<Void>.object([
        .required("name", .name, { "headgate" }), .required("version", .name, { Version.current }),
        .required("pid", .positive, { getpid() }),
    ])

    // MARK: rights

    private static let rights = FamilyMethod<Self>(
        "rights", .track,
        "Returns the rights of the caller: the groups of methods that it may call, and its namespace.",
        changesNothing: true,
        result: rightsOfCaller.schema
    ) { _, call in call.reply.answer(rightsOfCaller, call.session.caller) }

    private static let rightsOfCaller = OutputShape<Caller>.object([
        .required("uid", .count, \.credentials.uid), .required("gid", .count, \.credentials.gid),
        .required(
            "groups", .array(.word), { MethodGroup.allCases.filter($0.groups.contains) },
            "the groups of methods that the caller may call"),
        .required("namespace", .name, \.namespace, "the namespace of its event ids, as it is stored"),
    ])

    // MARK: ping, rpc.discover, application.status

    private static let ping = FamilyMethod<Self>(
        "ping", .track, "Returns an empty answer, to check the connection.", changesNothing: true
    ) {
        _, call in
        call.reply.answer()
    }

    private static let discover = FamilyMethod<Self>(
        "rpc.discover", .track, "Returns the OpenRPC document of the protocol.", changesNothing: true,
        result: .object([
            .required("openrpc", .name), .required("info", .anyObject), .required("methods", .array(.anyObject)),
            .required("components", .anyObject),
        ])
    ) { parts, call in
        call.reply.answer { $0.raw(parts.description()) }
    }

    private static let status = FamilyMethod<Self>(
        "application.status", .track, "Reports the state of the client's application.",
        Field("status", Shape<StatusWord>.word)
    ) { parts, call, word in
        parts.statuses.announce(word.status, by: call.session.number, flushingOn: parts.control.inForce.flushOn)
        call.reply.answer()
    }

    static let methods = [hello, ping, rights, discover, status]
    static let messages = [ServerMessage.closing]
}

/// The words that `application.status` accepts: those of the protocol, and synonyms that mobile trackers use.
private enum StatusWord: String, CaseIterable, Sendable {
    case foreground, background, exiting, foregrounded, backgrounded, initialized

    var status: ApplicationStatus {
        switch self {
        case .foreground, .foregrounded, .initialized: .foreground
        case .background, .backgrounded: .background
        case .exiting: .exiting
        }
    }
}
