/// What the daemon's command line says.
public struct DaemonOptions: Equatable, Sendable {
    /// `--config`: the configuration file; nil: the default configuration.
    public var configuration: String?
    /// `--socket`: where to listen.
    public var socket: String?
    /// `--data`: where the data are.
    public var dataDirectory: String?

    public init(configuration: String? = nil, socket: String? = nil, dataDirectory: String? = nil) {
        self.configuration = configuration
        self.socket = socket
        self.dataDirectory = dataDirectory
    }
}
