import HeadgateData

/// The topic `clients`: how many are connected, and who they are.
struct ClientsReport: TopicReport {
    private var told: [Client]?

    private struct Client: Equatable {
        var session: String
        /// As it named itself in `hello`.
        var name: String?
        var uid: UInt32
        var pid: Int32
    }

    mutating func news(from service: Service) -> ((inout JSONWriter) -> Void)? {
        let clients = service.sessions.all.sorted { $0.number < $1.number }.map { session in
            let peer = session.caller.credentials
            return Client(session: session.name, name: session.caller.client, uid: peer.uid, pid: peer.pid)
        }
        guard told != clients else { return nil }
        told = clients
        return { Self.write(clients, into: &$0) }
    }

    private static func write(_ clients: [Client], into writer: inout JSONWriter) {
        writer.member("count", clients.count)
        writer.member("clients")
        writer.beginArray()
        for client in clients {
            writer.element()
            writer.beginObject()
            writer.member("session", client.session)
            writer.member("client", item: client.name.map { .string($0) } ?? .null)
            writer.member("uid", client.uid)
            writer.member("pid", client.pid)
            writer.endObject()
        }
        writer.endArray()
    }
}
