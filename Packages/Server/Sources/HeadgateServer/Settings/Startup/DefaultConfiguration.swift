import HeadgateData

/// What the daemon does without a configuration file: something useful at once.
public enum DefaultConfiguration {
    /// One dispatcher `collect`, which writes `events.ndjson` into the data directory.
    public static let object: DataObject = [
        "dispatchers": ["collect": ["kind": "file", "path": "events.ndjson"]]
    ]
}
