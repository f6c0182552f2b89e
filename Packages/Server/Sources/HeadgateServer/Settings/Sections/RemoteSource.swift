import HeadgateData

/// Where the remote layer of the settings comes from (Behaviour S1).
public struct RemoteSource: Equatable, Sendable {
    /// The URL of a JSON object, in the form of the configuration file.
    public var url: String
    /// From one look to the next.
    public var refresh = Duration.seconds(300)

    init(_ reader: SettingsReader) {
        reader.require("url")
        url = reader.endpoint("url")?.text ?? ""
        reader.seconds("refresh_s", into: &refresh)
    }
}
