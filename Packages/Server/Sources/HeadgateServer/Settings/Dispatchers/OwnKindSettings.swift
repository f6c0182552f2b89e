import HeadgateData

/// What a dispatcher of a program's own kind is told (Behaviour K5).
struct OwnKindSettings: Sendable, Equatable {
    let kind: String
    let reachesNetwork: Bool
    /// Its `configuration`, which only the program understands.
    let configuration: DataObject

    init(_ kind: String, reachesNetwork: Bool, _ reader: SettingsReader) {
        self.kind = kind
        self.reachesNetwork = reachesNetwork
        configuration = reader.object("configuration") ?? [:]
    }
}
