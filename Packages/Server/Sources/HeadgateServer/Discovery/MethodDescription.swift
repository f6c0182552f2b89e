import HeadgateData
import HeadgateWire

/// What a person or a program has to know to call a method.
struct MethodDescription: Sendable {
    /// Who calls it, and whether there is an answer.
    enum Direction: String, Sendable {
        case clientToServer = "client-to-server"
        case serverToClient = "server-to-client"
        case serverNotification = "server-notification"
    }

    let name: String
    let summary: String
    var direction = Direction.clientToServer
    let params: [Schema.Member]
    let result: Schema
    /// The service's own errors that it may end with, beside those that any request may.
    let reasons: [ErrorReason]

    init(
        _ name: String, _ summary: String, params: [Schema.Member] = [], result: Schema = .empty,
        reasons: [ErrorReason] = [], direction: Direction = .clientToServer
    ) {
        self.name = name
        self.summary = summary
        self.params = params
        self.result = result
        self.reasons = reasons
        self.direction = direction
    }
}

extension MethodDescription {
    /// All that clients may call, in the order of the families of methods.
    static let all =
        connection + tracking + flushing + looking + barriers + dispatchers + queues + deadLetters + boards + settings

    /// What the server sends to clients.
    static let toClients = asked + told
}

extension MethodDescription {
    /// The method as OpenRPC describes it.
    /// - Parameter group: the group of methods that it is in (Behaviour X1); nil for what the server sends.
    func item(group: MethodGroup?) -> DataItem {
        var object: DataObject = [
            "name": .string(name), "summary": .string(summary), "paramStructure": "by-name",
            "params": .array(params.map(\.contentDescriptor)), "x-direction": .string(direction.rawValue),
        ]
        if let group { object["x-group"] = .string(group.rawValue) }
        guard direction != .serverNotification else { return .object(object) }
        object["result"] = ["name": "result", "schema": result.item]
        if !reasons.isEmpty {
            object["errors"] = .array(reasons.map { ["$ref": .string("#/components/errors/\($0.rawValue)")] })
        }
        return .object(object)
    }
}

extension Schema.Member {
    /// A parameter as OpenRPC describes it.
    fileprivate var contentDescriptor: DataItem {
        var object: DataObject = ["name": .string(name)]
        if let note { object["description"] = .string(note) }
        object["required"] = .bool(isRequired)
        object["schema"] = schema.item
        return .object(object)
    }
}
