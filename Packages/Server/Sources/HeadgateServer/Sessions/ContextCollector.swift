import Glibc
import HeadgateData

/// Adds to a session's events where they come from (Behaviour P2). What a client says of itself is taken from `hello`;
/// process, user and group from the socket, never from the client's word.
struct ContextCollector {
    let settings: CollectorSettings
    /// The machine's name.
    let host: String

    init(settings: CollectorSettings, host: String = ContextCollector.hostName) {
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

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
