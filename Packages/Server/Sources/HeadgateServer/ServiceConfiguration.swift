import HeadgateData

/// What a daemon is started with.
public struct ServiceConfiguration: Sendable {
    /// The settings by layer.
    public var layers: SettingsLayers
    /// What came of reading them together; without settings the daemon does not start.
    public var reading: SettingsReading
    /// Where it listens and keeps its data.
    public var places: Places
    /// The configuration file, to be read again at a reload; nil: the default configuration.
    public var file: String?
    /// The process's environment.
    public var environment: [String: String]
    /// Listening sockets that a service manager has opened; without any the daemon opens its own.
    public var inherited: [Int32]

    public init(
        layers: SettingsLayers, reading: SettingsReading, places: Places, file: String? = nil,
        environment: [String: String] = [:], inherited: [Int32] = []
    ) {
        self.layers = layers
        self.reading = reading
        self.places = places
        self.file = file
        self.environment = environment
        self.inherited = inherited
    }
}
