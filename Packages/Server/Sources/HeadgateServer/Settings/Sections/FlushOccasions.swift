import HeadgateData

/// What flushes by itself (Behaviour F5).
public struct FlushOccasions: Equatable, Sendable {
    /// The service's start.
    public var start = true
    /// The network's return.
    public var connected = true
    /// A client that goes to the background.
    public var background = true
    /// A client that comes to the foreground.
    public var foreground = true
    /// A client that is about to end.
    public var exiting = true
    /// An orderly stop of the service.
    public var shutdown = true

    public init() {}

    /// The occasions under the names of the configuration.
    var object: DataObject {
        [
            "start": .bool(start), "connected": .bool(connected), "background": .bool(background),
            "foreground": .bool(foreground),
            "exiting": .bool(exiting), "shutdown": .bool(shutdown),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.bool("start", into: &start)
        reader.bool("connected", into: &connected)
        reader.bool("background", into: &background)
        reader.bool("foreground", into: &foreground)
        reader.bool("exiting", into: &exiting)
        reader.bool("shutdown", into: &shutdown)
    }
}
