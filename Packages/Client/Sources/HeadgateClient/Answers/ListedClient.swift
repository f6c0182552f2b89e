import HeadgateData

/// A client that is connected to the daemon (Protocol, `watch`, topic `clients`).
public struct ListedClient: Sendable, Equatable {
    /// The daemon's name for its connection.
    public let session: String
    /// Its name and version, if it told them.
    public let client: String?
    /// The user whom its process belongs to.
    public let uid: Int?
    /// Its process.
    public let pid: Int?

    /// Reads an entry of the notification. What is missing is taken for empty.
    public init(_ entry: DataObject) {
        session = entry.get(key: "session") ?? ""
        client = entry.get(key: "client")
        uid = entry.get(key: "uid")
        pid = entry.get(key: "pid")
    }

    /// Reads the member `clients`; nil if there is none.
    public static func list(in params: DataObject) -> [ListedClient]? {
        params.get(key: "clients", as: [DataObject].self)?.map(ListedClient.init)
    }
}
