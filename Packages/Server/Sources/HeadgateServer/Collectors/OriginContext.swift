import Glibc
import HeadgateData

/// Says where a connection's events come from (Behaviour P2). What a client says of itself is taken from `hello`; process,
/// user and group from the socket, never from the client's word.
struct OriginContext {
    let settings: CollectorSettings
    /// The machine's name.
    let host: String

    init(settings: CollectorSettings, host: String = OriginContext.hostName) {
        self.settings = settings
        self.host = host
    }

    /// The context of all events of a session, as a JSON object.
    func context(of caller: Caller, networkConnectionType: String?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if settings.peer {
            json.member("pid", caller.credentials.pid)
            json.member("uid", caller.credentials.uid)
            json.member("gid", caller.credentials.gid)
        }
        if settings.client, let client = caller.client { json.member("client", client) }
        if settings.host { json.member("host", host) }
        if settings.network, let networkConnectionType { json.member("network_connection_type", networkConnectionType) }
        json.endObject()
        return json.bytes
    }

    /// The members that no other collector can give.
    private static let members: Set<String> = ["pid", "uid", "gid", "client", "host", "network_connection_type"]

    /// A context with what other collectors add.
    static func extended(_ context: UnsafeRawBufferPointer, by added: DataObject) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        // Without its braces it is a list of members.
        if context.count > 2 {
            json.element()
            json.raw(UnsafeRawBufferPointer(rebasing: context[1..<context.count - 1]))
        }
        for (key, value) in added where !members.contains(key) {
            json.member(key: key)
            json.item(value)
        }
        json.endObject()
        return json.bytes
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
